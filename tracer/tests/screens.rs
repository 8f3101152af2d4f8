//! The screens drawn from fixed snapshots, and a session scripted key by key. No terminal is needed.
//!
//! `BLESS=1 cargo test -p tracer --test screens` rewrites the pictures in `tests/data/screens/`; a missing one fails.

#[path = "screens/cases.rs"]
mod cases;
#[path = "screens/picture.rs"]
mod picture;
#[path = "replay/runs.rs"]
mod runs;
#[path = "screens/script.rs"]
mod script;

use std::fmt::Write as _;

use ratatui::style::Color;
use tracer::tui::{
    app::{Action, App, Command, Screen},
    view::{LEAST, Theme},
};

use picture::{draw, golden, styles, text};

const PLAIN: Theme = Theme { color: false, unicode: true };
const ASCII: Theme = Theme { color: false, unicode: false };
const COLORS: Theme = Theme { color: true, unicode: true };

const SIZES: [(u16, u16); 2] = [(80, 24), (120, 40)];

fn on(app: &App, screen: Screen) -> App {
    let mut app = app.clone();
    app.on(Action::Command(Command::Go(screen)));
    app
}

/// Every screen, with a path open and the help as well.
fn all_screens(app: &App) -> Vec<(&'static str, App)> {
    let mut screens: Vec<_> = Screen::ALL.into_iter().map(|screen| (screen.name(), on(app, screen))).collect();
    let mut open = on(app, Screen::Paths);
    open.on(Action::Command(Command::Open));
    screens.push(("a path", open));
    screens
}

fn check(case: &str, app: &App) {
    for (width, height) in SIZES {
        let mut pictures = String::new();
        for (name, app) in all_screens(app) {
            let _ = write!(pictures, "=== {name}\n{}", text(&draw(&app, width, height, PLAIN)));
        }
        golden(&format!("{case}-{width}x{height}.txt"), &pictures);
    }
}

#[test]
fn nothing_counted_yet_is_drawn_as_such() {
    check("empty", &cases::empty());
}

#[test]
fn an_ordinary_run_reads_well() {
    check("ordinary", &cases::ordinary());
}

#[test]
fn sockets_in_trouble_are_seen() {
    check("sockets", &cases::sockets());
}

#[test]
fn huge_numbers_keep_to_their_columns() {
    check("huge", &cases::huge());
}

#[test]
fn long_and_hostile_names_are_cut_and_cleaned() {
    check("long", &cases::long());
}

#[test]
fn losses_and_verdict_are_seen_on_every_screen() {
    let app = cases::lost();
    check("lost", &app);
    for (name, app) in all_screens(&app) {
        for (width, height) in SIZES {
            let status = text(&draw(&app, width, height, PLAIN)).lines().nth(1).unwrap_or_default().to_owned();
            // 12 of a full table, 5 of an impossible order, 8 that nobody owns up to, 7 missed.
            assert!(status.contains("LOST 32"), "{name} at {width}: {status}");
            assert!(status.contains("lower bound"), "{name} at {width}: {status}");
        }
    }
}

#[test]
fn the_help_shows_every_key() {
    let mut app = cases::ordinary();
    app.on(Action::Command(Command::Help));
    let help = text(&draw(&app, 80, 24, PLAIN));
    for binding in tracer::tui::keys::BINDINGS {
        assert!(help.contains(binding.help), "{}: {}", binding.shown, binding.help);
    }
    golden("help-80x24.txt", &help);
}

#[test]
fn styles_say_in_bold_and_reverse_what_colours_say() {
    let app = cases::lost();
    let pictures: String = [("colours", COLORS), ("without", PLAIN)]
        .into_iter()
        .flat_map(|(name, theme)| {
            [Screen::Overview, Screen::Paths, Screen::Hooks].map(|screen| {
                format!("=== {name}, {}\n{}", screen.name(), styles(&draw(&on(&app, screen), 80, 24, theme)))
            })
        })
        .collect();
    golden("styles-80x24.txt", &pictures);
}

#[test]
fn without_colours_no_cell_has_one_and_in_ascii_no_cell_is_anything_else() {
    for app in [cases::empty(), cases::ordinary(), cases::huge(), cases::long(), cases::lost()] {
        for (name, app) in all_screens(&app) {
            let cells = draw(&app, 120, 40, ASCII);
            for cell in &cells.content {
                assert!(cell.symbol().is_ascii(), "{name}: {:?}", cell.symbol());
                assert_eq!((cell.fg, cell.bg), (Color::Reset, Color::Reset), "{name}: {:?}", cell.symbol());
            }
        }
    }
    let mut app = on(&cases::ordinary(), Screen::Overview);
    golden("ascii-80x24.txt", &text(&draw(&app, 80, 24, ASCII)));
    app.on(Action::Command(Command::Go(Screen::Flame)));
    golden("ascii-flame-80x24.txt", &text(&draw(&app, 80, 24, ASCII)));
}

#[test]
fn no_control_character_reaches_a_cell() {
    for (name, app) in all_screens(&cases::long()) {
        for cell in &draw(&app, 200, 60, PLAIN).content {
            assert!(!cell.symbol().chars().any(char::is_control), "{name}: {:?}", cell.symbol());
        }
    }
}

#[test]
fn a_terminal_that_is_too_small_says_what_it_needs() {
    let app = cases::ordinary();
    for (width, height) in [(79, 24), (80, 23), (20, 5), (1, 1), (0, 0)] {
        let shown = text(&draw(&app, width, height, PLAIN));
        if width > 19 {
            assert!(shown.replace('\n', " ").contains("80x24"), "{width}x{height}: {shown}");
        }
    }
    golden("too-small.txt", &text(&draw(&app, 40, 5, PLAIN)));
}

#[test]
fn every_size_from_the_least_on_is_drawn() {
    for app in [cases::huge(), cases::long()] {
        for (_, app) in all_screens(&app) {
            for (width, height) in [LEAST, (81, 25), (133, 24), (80, 60), (300, 80)] {
                draw(&app, width, height, COLORS);
            }
        }
    }
}

#[test]
fn a_click_selects_what_is_under_it() {
    let app = on(&cases::ordinary(), Screen::Paths);
    let area = ratatui::layout::Rect::new(0, 0, 80, 24);
    let at = |x, y| tracer::tui::view::at(area, &app, x, y);
    assert!(matches!(at(14, 0), Some(Action::Command(Command::Go(Screen::Paths)))), "the second tab");
    assert!(at(78, 0).is_none(), "right of all tabs");
    // Tabs, status, heading and titles stand above the first row.
    let first = 4;
    assert!(matches!(at(5, first), Some(Action::Select(0))), "the first row");
    assert!(matches!(at(5, first + 1), Some(Action::Select(1))), "the second row");
    assert!(at(5, 20).is_none(), "below the last row");
}
