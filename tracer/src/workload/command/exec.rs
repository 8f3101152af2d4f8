//! The child's side of a start: from fork to exec, where only system calls are allowed.

use std::{
    env,
    ffi::{CString, OsStr, OsString},
    fs, io,
    io::IsTerminal as _,
    os::unix::{
        ffi::{OsStrExt as _, OsStringExt as _},
        process::CommandExt as _,
    },
    process::{Child, Command, Stdio},
    ptr,
};

use nix::errno::Errno;

use super::{
    program::{self, StartError},
    user::User,
};

/// All that exec needs, allocated before the fork.
pub(super) struct Image {
    name: OsString,
    candidates: Vec<CString>,
    argv: Vector,
    environment: Vector,
    user: Option<User>,
}

/// Strings as exec takes them.
struct Vector {
    _strings: Vec<CString>,
    /// Into the strings, with a null pointer at the end.
    pointers: Vec<*const libc::c_char>,
}

// SAFETY: the pointers lead into the heap buffers of `_strings`, which are owned beside them and never changed.
unsafe impl Send for Vector {}
// SAFETY: as above; nothing is written through them.
unsafe impl Sync for Vector {}

impl Vector {
    fn new(strings: impl Iterator<Item = Vec<u8>>) -> Result<Self, std::ffi::NulError> {
        let strings = strings.map(CString::new).collect::<Result<Vec<_>, _>>()?;
        let pointers = strings.iter().map(|string| string.as_ptr()).chain([ptr::null()]).collect();
        Ok(Self { _strings: strings, pointers })
    }
}

impl Image {
    pub(super) fn new(argv: &[OsString], user: Option<User>) -> Result<Self, StartError> {
        let name = argv.first().ok_or_else(|| StartError::not_found(OsStr::new("")))?.clone();
        let holds_nul = |_| StartError::other(&name, "an argument, a variable or a path holds a NUL byte");
        let candidates =
            program::candidates(&name)?.into_iter().map(|file| CString::new(file.into_os_string().into_vec()));
        let candidates = candidates.collect::<Result<_, _>>().map_err(holds_nul)?;
        let environment: Vec<_> = match &user {
            Some(user) => user.environment(env::vars_os()),
            None => env::vars_os().collect(),
        };
        let environment = environment.into_iter().map(|(name, value)| {
            let mut pair = name.into_vec();
            pair.push(b'=');
            pair.extend(value.into_vec());
            pair
        });
        let environment = Vector::new(environment).map_err(holds_nul)?;
        let argv = Vector::new(argv.iter().map(|argument| argument.clone().into_vec())).map_err(holds_nul)?;
        Ok(Self { name, candidates, argv, environment, user })
    }

    pub(super) fn name(&self) -> &OsStr {
        &self.name
    }

    /// Forks and executes; both outputs are pipes.
    pub(super) fn spawn(self) -> Result<Child, StartError> {
        let (name, first, is_switched) = (self.name.clone(), self.candidates[0].clone(), self.user.is_some());
        let mut command = Command::new(&name);
        command.stdin(if io::stdin().is_terminal() { Stdio::null() } else { Stdio::inherit() });
        command.stdout(Stdio::piped()).stderr(Stdio::piped()).process_group(0);
        let parent = nix::unistd::getpid();
        let highest = highest_descriptor();
        // SAFETY: `Image::enter` only makes system calls on memory that was allocated before the fork.
        unsafe { command.pre_exec(move || Err(self.enter(parent, highest))) };
        command.spawn().map_err(|error| explain(&name, OsStr::from_bytes(first.as_bytes()), is_switched, &error))
    }

    /// In the child. Returns only when it failed, with the reason.
    fn enter(&self, parent: nix::unistd::Pid, highest: i32) -> io::Error {
        match self.become_user().and_then(|()| outlive_nobody(parent)) {
            Ok(()) => {}
            Err(error) => return error,
        }
        keep_no_descriptor(highest);
        let mut refused = Errno::ENOENT;
        for candidate in &self.candidates {
            // SAFETY: the path and both vectors are NUL- and null-terminated and outlive the call. This is not left
            // to the standard library since its `execvp` hands what is no program to a shell.
            unsafe {
                libc::execve(candidate.as_ptr(), self.argv.pointers.as_ptr(), self.environment.pointers.as_ptr())
            };
            match Errno::last() {
                Errno::ENOENT | Errno::ENOTDIR => {}
                Errno::EACCES => refused = Errno::EACCES,
                error => return error.into(),
            }
        }
        refused.into()
    }

    fn become_user(&self) -> io::Result<()> {
        let Some(user) = &self.user else { return Ok(()) };
        // Groups first: after the user id is gone we may not set them any more.
        nix::unistd::setgroups(&user.groups)?;
        nix::unistd::setresgid(user.gid, user.gid, user.gid)?;
        nix::unistd::setresuid(user.uid, user.uid, user.uid)?;
        Ok(())
    }
}

/// Sees to it that the command dies with the tracer. After the change of user, which would clear it.
fn outlive_nobody(parent: nix::unistd::Pid) -> io::Result<()> {
    nix::sys::prctl::set_pdeathsig(nix::sys::signal::Signal::SIGKILL)?;
    // The tracer may have died before the line above.
    if nix::unistd::getppid() == parent { Ok(()) } else { Err(Errno::ESRCH.into()) }
}

/// Marks every descriptor above standard error to be closed at exec; not closed now, since the standard library
/// reports a failed exec through one.
fn keep_no_descriptor(highest: i32) {
    // SAFETY: changes only flags of descriptors.
    let marked = unsafe { libc::syscall(libc::SYS_close_range, 3, libc::c_uint::MAX, libc::CLOSE_RANGE_CLOEXEC) };
    if marked == 0 {
        return;
    }
    // Linux before 5.11 has no such flag.
    for descriptor in 3..=highest {
        // SAFETY: changes only the flag of a descriptor, or fails where there is none.
        unsafe { libc::fcntl(descriptor, libc::F_SETFD, libc::FD_CLOEXEC) };
    }
}

/// The highest descriptor in use, with room for those that a start opens.
fn highest_descriptor() -> i32 {
    let open = fs::read_dir("/proc/self/fd").into_iter().flatten().flatten();
    let highest = open.filter_map(|entry| entry.file_name().to_str()?.parse::<i32>().ok()).max();
    highest.unwrap_or(1024).saturating_add(64)
}

fn explain(name: &OsStr, program: &OsStr, is_switched: bool, error: &io::Error) -> StartError {
    let refuse = |reason: &str| StartError::not_executable(program, reason);
    match error.raw_os_error().map(Errno::from_raw) {
        Some(Errno::EPERM) if is_switched => StartError::other(
            name,
            "not permitted to become its user: run as root, or keep `CAP_SETUID` and `CAP_SETGID`",
        ),
        // It was there a moment ago.
        Some(Errno::ENOENT) => refuse("its interpreter does not exist (see its first line)"),
        Some(Errno::ENOEXEC) => refuse("it is no program of this machine and has no `#!` line"),
        Some(Errno::EACCES) => refuse("permission denied"),
        Some(
            Errno::EPERM
            | Errno::ETXTBSY
            | Errno::E2BIG
            | Errno::ELOOP
            | Errno::ENAMETOOLONG
            | Errno::ENOTDIR
            | Errno::EISDIR
            | Errno::ELIBBAD
            | Errno::EINVAL
            | Errno::EIO,
        ) => refuse(&error.to_string()),
        _ => StartError::other(name, &error.to_string()),
    }
}
