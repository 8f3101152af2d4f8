//! Drawing: from the state, by shared reference, onto cells. One file a panel.
//!
//! Owns: how the screen is divided, and what lies under the mouse. Must not know: aya, hooks, maps, the terminal.

mod benchmark;
mod chart;
mod detail;
mod flame;
mod foot;
mod head;
mod help;
mod hooks;
mod memory;
mod overview;
mod paths;
mod sheet;
mod sockets;
mod status;
mod theme;

use ratatui::{buffer::Buffer, layout::Rect};

use self::sheet::Sheet;
pub use self::theme::Theme;
use super::app::{Action, App, Command, Screen};

/// The smallest terminal that all fits on.
pub const LEAST: (u16, u16) = (80, 24);

/// How the screen is divided.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Regions {
    tabs: Rect,
    status: Rect,
    /// What makes the numbers differ from the plain ones: filter, zero, pause; empty when nothing does.
    state: Rect,
    body: Rect,
    foot: Rect,
}

impl Regions {
    fn of(area: Rect, app: &App) -> Self {
        let line = |y: u16, height: u16| Rect { y: area.y + y, height, ..area };
        let state = u16::from(head::has_state(app));
        Self {
            tabs: line(0, 1),
            status: line(1, 1),
            state: line(2, state),
            body: line(2 + state, area.height.saturating_sub(3 + state)),
            foot: line(area.height.saturating_sub(1), 1),
        }
    }
}

/// Draws everything.
pub fn draw(cells: &mut Buffer, app: &App, theme: Theme) {
    let area = cells.area;
    let mut sheet = Sheet { cells, theme };
    if area.width < LEAST.0 || area.height < LEAST.1 {
        too_small(&mut sheet, area);
        return;
    }
    let regions = Regions::of(area, app);
    head::tabs(&mut sheet, regions.tabs, app);
    status::draw(&mut sheet, regions.status, app);
    head::state(&mut sheet, regions.state, app);
    if app.help {
        help::draw(&mut sheet, regions.body);
    } else {
        body(&mut sheet, regions.body, app);
    }
    foot::draw(&mut sheet, regions.foot, app);
}

fn body(sheet: &mut Sheet<'_>, area: Rect, app: &App) {
    let Some(seen) = &app.seen else {
        sheet.put(area.x, area.y + 1, area.width, "waiting for the first numbers", sheet.theme.faint());
        return;
    };
    match app.screen {
        Screen::Overview => overview::draw(sheet, area, app, seen),
        Screen::Paths if app.paths.open.is_some() => detail::draw(sheet, area, app, seen),
        Screen::Paths => paths::draw(sheet, area, app, seen),
        Screen::Flame => flame::draw(sheet, area, app, seen),
        Screen::Sockets => sockets::draw(sheet, area, app, seen),
        Screen::Memory => memory::draw(sheet, area, app, seen),
        Screen::Benchmark => benchmark::draw(sheet, area, app, seen),
        Screen::Hooks => hooks::draw(sheet, area, app, seen),
    }
}

fn too_small(sheet: &mut Sheet<'_>, area: Rect) {
    let (width, height) = LEAST;
    let text = format!("tracer needs {width}x{height}, this is {}x{}; q leaves", area.width, area.height);
    sheet.wrapped(area, &text, sheet.theme.title());
}

/// What a click at a place means.
pub fn at(area: Rect, app: &App, x: u16, y: u16) -> Option<Action> {
    if area.width < LEAST.0 || area.height < LEAST.1 {
        return None;
    }
    let regions = Regions::of(area, app);
    if regions.tabs.y == y {
        return head::tab_at(x).map(|screen| Action::Command(Command::Go(screen)));
    }
    if app.help || !(regions.body.top()..regions.body.bottom()).contains(&y) {
        return None;
    }
    match app.screen {
        Screen::Paths if app.paths.open.is_none() => paths::row_at(regions.body, app, y).map(Action::Select),
        Screen::Hooks => hooks::row_at(regions.body, app, y).map(Action::Select),
        _ => None,
    }
}
