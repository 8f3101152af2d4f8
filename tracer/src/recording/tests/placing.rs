//! Where a recording is put, and over what it is not.

use std::{
    fs,
    os::unix::fs::{MetadataExt, PermissionsExt, symlink},
    path::Path,
};

use super::{
    super::{Recording, Writer},
    batches, place, refusal, sample, without_privileges, written,
};

fn create(path: &Path, force: bool) -> anyhow::Result<Writer> {
    Writer::create(path, &sample::start(), force, None)
}

/// All names in a folder, sorted.
fn names(folder: &Path) -> Vec<String> {
    let mut names: Vec<_> =
        fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

#[test]
fn an_older_recording_is_replaced_with_force_only() {
    let (folder, path) = place();
    written(&path, 12);
    let line = refusal(create(&path, false));
    assert!(line.contains("already there") && line.contains("--force"), "{line}");
    assert_eq!(batches(&Recording::open(&path).unwrap()).len(), 3, "it is as it was");

    create(&path, true).unwrap().finish(&sample::end()).unwrap();
    assert_eq!(batches(&Recording::open(&path).unwrap()).len(), 0);
    assert_eq!(names(folder.path()), ["r.db"]);
}

#[test]
fn an_empty_file_is_replaced_with_force() {
    let (_folder, path) = place();
    fs::write(&path, "").unwrap();
    refusal(create(&path, false));
    create(&path, true).unwrap().finish(&sample::end()).unwrap();
    Recording::open(&path).unwrap();
}

#[test]
fn what_is_no_recording_is_not_replaced_even_with_force() {
    let (folder, path) = place();
    let other = folder.path().join("other.db");
    rusqlite::Connection::open(&other).unwrap().execute_batch("CREATE TABLE precious (a)").unwrap();
    for content in [b"precious".to_vec(), b"SQLite format 3\0".to_vec(), fs::read(&other).unwrap()] {
        fs::write(&path, &content).unwrap();
        let line = refusal(create(&path, true));
        assert!(line.contains("is not a recording"), "{line}");
        assert_eq!(fs::read(&path).unwrap(), content);
        assert_eq!(names(folder.path()), ["other.db", "r.db"]);
    }
}

#[test]
fn symbolic_links_folders_and_devices_are_refused_with_and_without_force() {
    let (folder, path) = place();
    let target = folder.path().join("target.db");
    written(&target, 4);
    let before = fs::read(&target).unwrap();
    symlink(&target, &path).unwrap();
    let dangling = folder.path().join("dangling");
    symlink(folder.path().join("nowhere"), &dangling).unwrap();
    for force in [false, true] {
        for (path, word) in [
            (path.as_path(), "symbolic link"),
            (&dangling, "symbolic link"),
            (folder.path(), "is a folder"),
            (Path::new("/dev/null"), "no regular file"),
            (Path::new("/"), "names no file"),
            (Path::new(""), "names no file"),
            (&folder.path().join("no/r.db"), "no folder"),
            (&target.join("r.db"), "cannot be made"),
        ] {
            let line = refusal(create(path, force));
            assert!(line.contains(word), "{line}");
        }
    }
    assert_eq!(fs::read(&target).unwrap(), before);
    assert_eq!(names(folder.path()), ["dangling", "r.db", "target.db"]);
}

#[test]
fn a_folder_reached_through_a_link_is_fine() {
    let (folder, _) = place();
    fs::create_dir(folder.path().join("real")).unwrap();
    symlink("real", folder.path().join("link")).unwrap();
    create(&folder.path().join("link/r.db"), false).unwrap().finish(&sample::end()).unwrap();
    assert_eq!(names(&folder.path().join("real")), ["r.db"]);
}

#[test]
fn names_that_mean_something_to_sqlite_are_names() {
    let (folder, _) = place();
    for name in [":memory:", "file:r.db?mode=memory", "a'b;c%20?d#e", "\u{1f980}", "line\nbreak"] {
        let path = folder.path().join(name);
        let batches_in = written(&path, 4);
        assert_eq!(batches(&Recording::open(&path).unwrap()), [super::super::merge(&batches_in)]);
        assert!(path.is_file());
        refusal(create(&path, false));
    }
}

#[test]
fn a_folder_that_may_not_be_written_to_is_named() {
    let (folder, path) = place();
    fs::set_permissions(folder.path(), PermissionsExt::from_mode(0o555)).unwrap();
    let line = without_privileges(|| refusal(create(&path, false)));
    assert!(line.contains("no file can be made in folder") && line.contains("permission denied"), "{line}");
    assert_eq!(names(folder.path()), [""; 0]);
}

#[test]
fn a_recording_in_use_is_not_replaced() {
    let (_folder, path) = place();
    let writer = create(&path, false).unwrap();
    let line = refusal(create(&path, true));
    assert!(line.contains(&format!("in use by process {}", std::process::id())), "{line}");
    writer.finish(&sample::end()).unwrap();
    create(&path, true).unwrap();
}

#[test]
fn what_a_killed_tracer_left_goes_with_its_recording() {
    let (folder, path) = place();
    let [wal, shm] = ["r.db-wal", "r.db-shm"].map(|name| folder.path().join(name));
    fs::write(&wal, "left").unwrap();
    let line = refusal(create(&path, false));
    assert!(line.contains("r.db-wal` is left") && line.contains("--force"), "{line}");
    assert_eq!(fs::read(&wal).unwrap(), b"left");

    fs::write(&shm, "left").unwrap();
    create(&path, true).unwrap().finish(&sample::end()).unwrap();
    assert_eq!(names(folder.path()), ["r.db"]);
    assert_eq!(Recording::open(&path).unwrap().end, Some(sample::end()));
}

#[test]
fn a_start_that_cannot_be_recorded_leaves_the_older_recording() {
    let (folder, path) = place();
    written(&path, 4);
    let before = fs::read(&path).unwrap();
    let mut start = sample::start();
    start.host.page_size = 0;
    start.paths.one_in = u64::MAX;
    refusal(Writer::create(&path, &start, true, None));
    assert_eq!(fs::read(&path).unwrap(), before);
    assert_eq!(names(folder.path()), ["r.db"]);
}

#[test]
fn all_files_of_a_recording_belong_to_the_user_named() {
    if !nix::unistd::geteuid().is_root() {
        // Only root can give files away, and anyone else is told so.
        let (folder, path) = place();
        let line = refusal(Writer::create(&path, &sample::start(), false, Some((0, 0))));
        assert!(line.contains("cannot be given to user 0"), "{line}");
        assert_eq!(names(folder.path()), [""; 0]);
        return;
    }
    let (folder, path) = place();
    // A folder like /tmp, where `fs.protected_regular` keeps even root from opening others' files to create them.
    fs::set_permissions(folder.path(), PermissionsExt::from_mode(0o1777)).unwrap();
    let mut writer = Writer::create(&path, &sample::start(), false, Some((12345, 54321))).unwrap();
    for batch in sample::batches(1, 8) {
        writer.append(&batch).unwrap();
    }
    let owners = || {
        let names = names(folder.path());
        let owner = |name: &String| {
            let file = fs::metadata(folder.path().join(name)).unwrap();
            (file.uid(), file.gid())
        };
        (names.iter().map(owner).collect::<Vec<_>>(), names)
    };
    assert_eq!(owners(), (vec![(12345, 54321); 3], ["r.db", "r.db-shm", "r.db-wal"].map(String::from).into()));
    writer.finish(&sample::end()).unwrap();
    assert_eq!(owners(), (vec![(12345, 54321)], vec!["r.db".into()]));
    Recording::open(&path).unwrap();
    Writer::create(&path, &sample::start(), true, Some((12345, 54321))).unwrap();
}
