//! A session key by key: what each does to the state, and what is to be done outside of it.

use std::{collections::HashSet, sync::Arc, time::Duration};

use ratatui::crossterm::event::{KeyCode, KeyEvent, KeyModifiers};
use tracer::{
    model::Filter,
    output::{Weight, folded},
    tui::{
        app::{
            Action, App, Effect, Kind, Screen, flame,
            prompt::{Format, Prompt},
            rows::{Group, Sort},
            seen::{Shape, shaped, since},
        },
        keys::{self, BINDINGS, Key},
        link::{Phase, Picture, Step},
    },
};

use crate::{cases, runs};

/// A state and the keys pressed so far.
struct Session {
    app: App,
    pressed: HashSet<String>,
}

impl Session {
    fn of(app: App) -> Self {
        Self { app, pressed: HashSet::new() }
    }

    fn press(&mut self, code: KeyCode, modifiers: KeyModifiers) -> Effect {
        let key = if modifiers == KeyModifiers::CONTROL {
            match code {
                KeyCode::Char(letter) => Key::Ctrl(letter),
                code => Key::Plain(code),
            }
        } else {
            Key::Plain(code)
        };
        let mode = self.app.mode();
        self.pressed.insert(format!("{key:?}"));
        keys::decode(KeyEvent::new(code, modifiers), mode).map_or(Effect::None, |action| self.app.on(action))
    }

    fn key(&mut self, code: KeyCode) -> Effect {
        self.press(code, KeyModifiers::NONE)
    }

    fn control(&mut self, letter: char) -> Effect {
        self.press(KeyCode::Char(letter), KeyModifiers::CONTROL)
    }

    /// Letters one after the other; the effect of the last.
    fn keys(&mut self, letters: &str) -> Effect {
        letters.chars().map(|letter| self.key(KeyCode::Char(letter))).last().unwrap_or(Effect::None)
    }

    fn message(&self) -> &str {
        self.app.message.as_deref().unwrap_or_default()
    }

    /// The title of the row that is selected.
    fn row(&self) -> &str {
        self.app.paths.rows.get(self.app.selected_row()).map_or("", |row| row.title.as_str())
    }
}

fn screens(session: &mut Session) {
    for (key, screen) in [
        ('2', Screen::Paths),
        ('3', Screen::Flame),
        ('4', Screen::Sockets),
        ('5', Screen::Memory),
        ('7', Screen::Benchmark),
        ('8', Screen::Hooks),
        ('1', Screen::Overview),
    ] {
        assert_eq!(session.keys(&key.to_string()), Effect::None);
        assert_eq!(session.app.screen, screen);
    }
    session.keys("6");
    assert_eq!(session.app.screen, Screen::Overview, "6 is no screen yet");
    session.key(KeyCode::Tab);
    assert_eq!(session.app.screen, Screen::Paths);
    session.key(KeyCode::BackTab);
    session.key(KeyCode::BackTab);
    assert_eq!(session.app.screen, Screen::Hooks, "round the beginning");
}

fn paths(session: &mut Session) {
    session.keys("2");
    let first = session.row().to_owned();
    assert!(first.starts_with("kmalloc_reserve < __alloc_skb"), "{first}");
    session.key(KeyCode::Down);
    let second = session.row().to_owned();
    assert_ne!(first, second);
    session.keys("k");
    assert_eq!(session.row(), first);
    session.keys("j");
    session.keys("r");
    assert_eq!(session.row(), second, "the selection goes where its path goes");
    assert!(session.app.paths.reverse);
    session.keys("r");
    for key in [KeyCode::Home, KeyCode::PageUp, KeyCode::Up] {
        session.key(key);
        assert_eq!(session.row(), first);
    }
    session.control('b');
    assert_eq!(session.row(), first);
    for key in [KeyCode::End, KeyCode::PageDown] {
        session.key(key);
        assert_eq!(session.row(), second);
    }
    session.control('f');
    session.keys("G");
    assert_eq!(session.row(), second);
    session.key(KeyCode::Esc);
    assert_eq!(session.row(), first, "nothing selected is the first row");
    for sort in [Sort::Events, Sort::Pages, Sort::Rate, Sort::Failed, Sort::Name, Sort::Bytes] {
        session.keys("s");
        assert_eq!(session.app.paths.sort, sort);
    }
    session.key(KeyCode::Enter);
    assert!(session.app.open_path().is_some_and(|path| path.route.as_deref() == Some("kmalloc_large")));
    session.key(KeyCode::Down);
    assert_eq!(session.app.paths.scroll, 1);
    session.key(KeyCode::Backspace);
    assert!(session.app.open_path().is_none());
    session.keys("a");
    assert!(session.app.seen.as_ref().is_some_and(|seen| {
        seen.pages.as_ref().is_some_and(|pages| pages.paths[0].frames[0] == "kmalloc_reserve")
    }));
    session.keys("am");
    assert!(session.app.seen.as_ref().is_some_and(|seen| {
        seen.pages.as_ref().is_some_and(|pages| pages.paths[0].frames[0] == "__alloc_frozen_pages")
    }));
    session.keys("m");
}

fn groups(session: &mut Session) {
    for group in [Group::Caller, Group::Route, Group::Context, Group::Owner, Group::Path, Group::Caller, Group::Route] {
        session.keys("g");
        assert_eq!(session.app.paths.group, group);
    }
    assert_eq!(session.row(), "kmalloc_large");
    assert_eq!(session.key(KeyCode::Enter), Effect::Wish, "a group opens as the filter for it");
    assert_eq!(session.app.wish.filter.route.as_deref(), Some("kmalloc_large"));
    assert_eq!(session.app.paths.group, Group::Path);
    session.keys("f");
    session.control('u');
    assert_eq!(session.key(KeyCode::Enter), Effect::Wish);
    assert_eq!(session.app.wish.filter, Filter::default());
}

fn search_and_filter(session: &mut Session) {
    session.keys("2/tcp_sendmsg");
    assert_eq!(session.app.prompt, Some(Prompt::Search("tcp_sendmsg".into())));
    session.key(KeyCode::Enter);
    assert!(session.row().starts_with("skb_page_frag_refill"), "{}", session.row());
    assert_eq!(session.message(), "`tcp_sendmsg`: match 1 of 1");
    session.keys("n");
    session.keys("N");
    assert_eq!(session.message(), "`tcp_sendmsg`: match 1 of 1");
    session.key(KeyCode::Esc);
    assert_eq!(session.app.search, "");
    session.keys("n");
    assert_eq!(session.message(), "nothing to search for; / asks");
    session.keys("forder=99");
    session.key(KeyCode::Enter);
    assert!(matches!(&session.app.prompt, Some(Prompt::Filter { error: Some(error), .. }) if error.contains("10")));
    session.control('u');
    session.keys("order=3 route=page_fragment context=syscall:sendto gfp=__GFP_COMP tcp");
    session.key(KeyCode::Backspace);
    assert_eq!(session.key(KeyCode::Enter), Effect::Wish);
    let expected = Filter {
        orders: [3].into(),
        route: Some("page_fragment".into()),
        context: Some("syscall:sendto".into()),
        frames: vec!["tc".into()],
        gfp: 0x4_0000,
        owner: None,
    };
    assert_eq!(session.app.wish.filter, expected);
    session.keys("fcomm=x");
    session.key(KeyCode::Enter);
    assert!(matches!(&session.app.prompt, Some(Prompt::Filter { error: Some(_), .. })), "not counted by name");
    session.key(KeyCode::Esc);
    assert_eq!(session.app.wish.filter, expected, "a prompt that was left changes nothing");
}

fn stacks(session: &mut Session) {
    session.keys("3");
    session.key(KeyCode::Down);
    assert_eq!(session.app.flame.selected, ["entry_SYSCALL_64_after_hwframe"]);
    session.keys("jjj");
    let (last, way) = (session.app.flame.selected.last().cloned(), session.app.flame.selected.len());
    assert_eq!((last.as_deref(), way), (Some("udp_sendmsg"), 4));
    for key in ["h", "l"] {
        session.keys(key);
    }
    assert_eq!(session.app.flame.selected.last().map(String::as_str), Some("udp_sendmsg"), "there and back");
    session.key(KeyCode::Left);
    assert_eq!(session.app.flame.selected.last().map(String::as_str), Some("tcp_sendmsg"), "by name");
    session.key(KeyCode::Right);
    session.key(KeyCode::Enter);
    assert_eq!(session.app.flame.zoom.len(), 4);
    session.key(KeyCode::Up);
    assert_eq!(session.app.flame.selected.len(), 4, "not above what is zoomed into");
    session.key(KeyCode::Esc);
    assert_eq!(session.app.flame.zoom.len(), 3);
    session.keys("/alloc_skb");
    session.key(KeyCode::Enter);
    assert_eq!(session.message(), "`alloc_skb`: match 1 of 2");
    assert_eq!(session.app.flame.selected.last().map(String::as_str), Some("alloc_skb_with_frags"));
    for weight in [Weight::Pages, Weight::Events, Weight::Bytes] {
        session.keys("w");
        assert_eq!(session.app.weight, weight);
    }
}

fn running(session: &mut Session) {
    assert_eq!(session.keys(" "), Effect::Wish);
    assert!(session.app.wish.paused);
    let held = session.app.picture.as_ref().map(|picture| Arc::clone(&picture.snapshot));
    let mut later = session.app.picture.clone().expect("a picture");
    Arc::make_mut(&mut later.snapshot).window.duration_s += 1.0;
    session.app.on(Action::Picture(Box::new(later.clone())));
    assert_eq!(session.app.picture.as_ref().map(|it| &it.snapshot), held.as_ref(), "the picture is held");
    assert_eq!(session.keys("p"), Effect::Wish);
    session.app.on(Action::Picture(Box::new(later)));
    assert_ne!(session.app.picture.as_ref().map(|it| &it.snapshot), held.as_ref());
    assert_eq!(session.keys("+"), Effect::Wish);
    assert_eq!(session.app.wish.interval, Duration::from_millis(100));
    session.keys("=");
    assert_eq!(session.keys("--"), Effect::Wish);
    assert_eq!(session.app.wish.interval, Duration::from_millis(250));
    session.keys("z");
    let events = |session: &Session| session.app.seen.as_ref()?.pages.as_ref().map(|pages| pages.events);
    assert_eq!(events(session), Some(0), "counting begins here");
    session.keys("z");
    assert_eq!(events(session), Some(2_013_000));
    for key in [",", ".", "t"] {
        assert_eq!(session.keys(key), Effect::None);
        assert!(session.message().contains("recording"), "{}", session.message());
    }
    session.keys("e");
    assert_eq!(session.app.prompt, Some(Prompt::Export(0)));
    session.keys("jj");
    session.key(KeyCode::Up);
    assert_eq!(session.key(KeyCode::Enter), Effect::Export(Format::Json));
    session.keys("?");
    assert!(session.app.help);
    session.keys("x");
    assert!(!session.app.help, "any key takes the help away");
    assert_eq!(session.control('l'), Effect::Redraw);
    assert_eq!(session.control('z'), Effect::Suspend);
}

#[test]
fn every_key_does_what_the_help_says() {
    let mut session = Session::of(cases::ordinary());
    screens(&mut session);
    paths(&mut session);
    groups(&mut session);
    search_and_filter(&mut session);
    session.keys("f");
    session.control('u');
    session.key(KeyCode::Enter);
    stacks(&mut session);
    running(&mut session);
    assert_eq!(session.keys("q"), Effect::None);
    assert_eq!(session.app.prompt, Some(Prompt::Leave), "the command still runs");
    session.keys("n");
    assert_eq!(session.app.prompt, None);
    assert_eq!(session.keys("qy"), Effect::Leave);
    assert!(session.app.wish.leave);
    let mut session = Session { app: cases::ordinary(), ..session };
    assert_eq!(session.control('c'), Effect::Leave, "without a question");
    for key in BINDINGS.iter().flat_map(|binding| binding.keys) {
        assert!(session.pressed.contains(&format!("{key:?}")), "{key:?} was not tried");
    }
}

#[test]
fn once_the_command_has_ended_nothing_is_asked_and_the_numbers_stay() {
    let mut session = Session::of(cases::ordinary());
    session.keys("p");
    let picture = session.app.picture.clone().expect("a picture");
    session.app.on(Action::Picture(Box::new(Picture { phase: Phase::Ended, ..picture })));
    assert!(!session.app.wish.paused, "the final numbers are shown even when the picture was held");
    assert_eq!(session.keys("q"), Effect::Leave);
}

#[test]
fn a_selection_follows_its_path_when_others_overtake_it() {
    let mut session = Session::of(cases::ordinary());
    session.keys("2j");
    let (selected, place) = (session.row().to_owned(), session.app.selected_row());
    let mut picture = session.app.picture.clone().expect("a picture");
    let pages = Arc::make_mut(&mut picture.snapshot).pages.as_mut().expect("pages");
    for path in pages.paths.iter_mut().filter(|path| path.route.as_deref() == Some("page_fragment")) {
        path.bytes *= 1_000_000;
    }
    session.app.on(Action::Picture(Box::new(picture)));
    assert_eq!(session.row(), selected);
    assert_ne!(session.app.selected_row(), place);
}

#[test]
fn counts_close_in_every_shape_and_since_every_zero() {
    let whole = runs::lossy().snapshot();
    let mut earlier = whole.clone();
    // Half of one path, none of the other, and a third of what was lost.
    let pages = earlier.pages.as_mut().expect("pages");
    pages.paths.truncate(1);
    let path = &mut pages.paths[0];
    let half = path.events / 2;
    (path.events, path.pages, path.bytes) = (half, half * 8, half * 8 * 4096);
    path.orders.values_mut().for_each(|events| *events = half);
    (pages.lost, pages.events) = (pages.lost / 3, half + pages.lost / 3);
    let row = &mut pages.by_order[0];
    (row.events, row.pages) = (pages.events, pages.events * 8);
    for base in [None, Some(&earlier), Some(&whole)] {
        for (no_allocator, no_variants) in [(false, false), (false, true), (true, false), (true, true)] {
            let counted = base.map_or_else(|| whole.clone(), |base| since(&whole, base));
            let seen = shaped(counted, Shape { no_allocator, no_variants });
            let pages = seen.pages.expect("pages");
            let of_paths: u64 = pages.paths.iter().map(|path| path.events).sum();
            assert_eq!(of_paths + pages.lost, pages.events);
            assert_eq!(pages.by_order.iter().map(|row| row.events).sum::<u64>(), pages.events);
            assert!(pages.paths.iter().all(|path| path.orders.values().sum::<u64>() == path.events));
            let expected = base.map_or(120, |base| 120 - base.pages.as_ref().map_or(0, |pages| pages.events));
            assert_eq!(pages.events, expected);
        }
    }
}

#[test]
fn the_flame_weighs_what_the_export_writes() {
    for snapshot in [runs::clean().snapshot(), runs::lossy().snapshot(), runs::without_paths().snapshot()] {
        for weight in [Weight::Events, Weight::Pages, Weight::Bytes] {
            let tree = flame::tree(&snapshot, weight);
            let pages = snapshot.pages.as_ref().expect("pages");
            let options = folded::Options { weight, order_root: false, annotate: false };
            let exported = folded::stacks(pages, snapshot.host.page_size, options);
            for (stack, weight) in &exported {
                let way: Vec<String> = stack.split(';').map(str::to_owned).collect();
                let node = tree.at(&way).expect("every stack has its place");
                let above: u64 = node.callees.iter().map(|callee| callee.weight).sum();
                assert_eq!(node.weight - above, *weight, "{stack}");
            }
            assert_eq!(tree.weight, exported.values().sum::<u64>());
            assert_eq!(tree.weight, tree.by_order.iter().sum::<u64>());
        }
    }
}

#[test]
fn the_chart_comes_back_with_the_filter_that_it_was_drawn_for() {
    let mut app = cases::ordinary();
    let whole = app.history.clone();
    let picture = app.picture.clone().expect("a picture");
    let filter = Filter { orders: [2].into(), ..Filter::default() };
    app.on(Action::Picture(Box::new(Picture { filter, ..picture.clone() })));
    assert_ne!(app.history, whole, "through another filter, history begins anew");
    app.on(Action::Picture(Box::new(picture)));
    assert_eq!(app.history, whole);
}

#[test]
fn the_output_stands_still_while_one_reads_back() {
    let mut session = Session::of(cases::ordinary());
    session.keys("7");
    session.key(KeyCode::Up);
    assert_eq!(session.app.output_scroll, 1);
    session.app.on(Action::Output("more\nand more\n".into()));
    assert_eq!(session.app.output_scroll, 3);
    session.key(KeyCode::End);
    assert_eq!(session.app.output_scroll, 0);
}

#[test]
fn a_recording_is_stepped_through_and_jumped_in() {
    let app = cases::ordinary();
    let mut session = Session::of(App { kind: Kind::Recording, ..app });
    let picture = session.app.picture.clone().expect("a picture");
    let at = |at| Box::new(Picture { step: Some(Step { at, of: 9 }), phase: Phase::Ended, ..picture.clone() });
    session.app.on(Action::Picture(at(9)));
    assert_eq!(session.key(KeyCode::Right), Effect::None, "nothing comes after the end");
    assert_eq!(session.key(KeyCode::Left), Effect::Seek(8));
    session.app.on(Action::Picture(at(4)));
    assert_eq!((session.keys("."), session.keys(",")), (Effect::Seek(5), Effect::Seek(3)));
    session.keys("3");
    assert_eq!(session.key(KeyCode::Left), Effect::None, "arrows belong to the flame there");
    session.keys("t2.5");
    assert_eq!(session.key(KeyCode::Enter), Effect::SeekTo(Duration::from_millis(2_500)));
    session.keys("tsoon");
    assert_eq!(session.key(KeyCode::Enter), Effect::None);
    assert!(matches!(&session.app.prompt, Some(Prompt::Jump { error: Some(_), .. })));
    session.key(KeyCode::Esc);
    for key in ["p", "+"] {
        assert_eq!(session.keys(key), Effect::None);
        assert!(session.message().contains("recording"));
    }
    assert_eq!(session.keys("q"), Effect::Leave);
}

#[test]
fn what_has_no_path_is_a_row_of_its_own_and_opens_nothing() {
    let mut session = Session::of(cases::lost());
    session.keys("2/[lost]");
    session.key(KeyCode::Enter);
    assert!(session.row().starts_with("[lost]"));
    session.key(KeyCode::Enter);
    assert!(session.app.open_path().is_none());
    assert!(session.message().contains("Hooks"), "{}", session.message());
}

#[test]
fn other_runs_are_shown_too() {
    // A run without paths has one row, which says so.
    let model = runs::without_paths();
    let mut app = App::new(model.start().clone(), Kind::Top, cases::empty().wish);
    let picture = cases::empty().picture.expect("a picture");
    app.on(Action::Picture(Box::new(Picture { snapshot: Arc::new(model.snapshot()), ..picture })));
    let mut session = Session::of(app);
    session.keys("2");
    assert_eq!(session.row(), "[paths off]");
    assert_eq!(session.keys("q"), Effect::Leave, "there is no command to ask about");
}
