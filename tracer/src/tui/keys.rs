//! Keys: one table from which they are decoded and the help is made.
//!
//! Must not know: what a command does.

use ratatui::crossterm::event::{KeyCode, KeyEvent, KeyEventKind, KeyModifiers};

use super::app::{
    Action, Command, Move, Screen,
    prompt::{self, Mode},
};

/// Under which title a key stands in the help.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Topic {
    /// Where to look.
    Look,
    /// What to see.
    Show,
    /// The run.
    Run,
}

impl Topic {
    /// All, in order.
    pub const ALL: [Self; 3] = [Self::Look, Self::Show, Self::Run];

    /// Its title.
    pub const fn title(self) -> &'static str {
        match self {
            Self::Look => "where to look",
            Self::Show => "what to see",
            Self::Run => "the run",
        }
    }
}

/// One line of the help.
pub struct Binding {
    /// The keys that mean it.
    pub keys: &'static [Key],
    /// How they are shown.
    pub shown: &'static str,
    /// What they mean.
    pub command: Command,
    /// In words; empty where the line above says it as well.
    pub help: &'static str,
    /// Where it stands.
    pub topic: Topic,
}

/// A key, with or without Ctrl.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Key {
    /// Alone.
    Plain(KeyCode),
    /// With Ctrl.
    Ctrl(char),
}

use Key::{Ctrl, Plain};
use KeyCode::Char;

const fn binding(
    topic: Topic,
    keys: &'static [Key],
    shown: &'static str,
    command: Command,
    help: &'static str,
) -> Binding {
    Binding { keys, shown, command, help, topic }
}

/// Every key that means something when nothing is asked.
pub const BINDINGS: &[Binding] = &[
    binding(Topic::Look, &[Plain(Char('1'))], "1", Command::Go(Screen::Overview), "Overview: all at a glance"),
    binding(Topic::Look, &[Plain(Char('2'))], "2", Command::Go(Screen::Paths), "Paths: who allocates"),
    binding(Topic::Look, &[Plain(Char('3'))], "3", Command::Go(Screen::Flame), "Flame: stacks as a picture"),
    binding(Topic::Look, &[Plain(Char('4'))], "4", Command::Go(Screen::Sockets), "Sockets: charges, overflows"),
    binding(Topic::Look, &[Plain(Char('5'))], "5", Command::Go(Screen::Memory), "Memory: lists, free blocks"),
    binding(Topic::Look, &[Plain(Char('7'))], "7", Command::Go(Screen::Benchmark), "Benchmark: output, score"),
    binding(Topic::Look, &[Plain(Char('8'))], "8", Command::Go(Screen::Hooks), "Hooks: what is attached"),
    binding(Topic::Look, &[Plain(KeyCode::Tab)], "Tab S-Tab", Command::NextScreen, "next, previous screen"),
    binding(Topic::Look, &[Plain(KeyCode::BackTab)], "Shift-Tab", Command::PreviousScreen, ""),
    binding(
        Topic::Look,
        &[Plain(KeyCode::Up), Plain(Char('k'))],
        "up k",
        Command::Move(Move::Up),
        "up; Flame: the caller",
    ),
    binding(
        Topic::Look,
        &[Plain(KeyCode::Down), Plain(Char('j'))],
        "down j",
        Command::Move(Move::Down),
        "down; Flame: main callee",
    ),
    binding(
        Topic::Look,
        &[Plain(KeyCode::Left), Plain(Char('h'))],
        "left h",
        Command::Move(Move::Left),
        "back in time; Flame: sibling",
    ),
    binding(
        Topic::Look,
        &[Plain(KeyCode::Right), Plain(Char('l'))],
        "right l",
        Command::Move(Move::Right),
        "on in time; Flame: sibling",
    ),
    binding(
        Topic::Look,
        &[Plain(KeyCode::PageUp), Ctrl('b')],
        "PgUp PgDn",
        Command::Move(Move::PageUp),
        "by a screenful",
    ),
    binding(Topic::Look, &[Plain(KeyCode::PageDown), Ctrl('f')], "PgDn", Command::Move(Move::PageDown), ""),
    binding(Topic::Look, &[Plain(KeyCode::Home)], "Home End", Command::Move(Move::Home), "to the first, to the last"),
    binding(Topic::Look, &[Plain(KeyCode::End), Plain(Char('G'))], "End G", Command::Move(Move::End), ""),
    binding(Topic::Look, &[Plain(KeyCode::Enter)], "Enter", Command::Open, "open path, group or frame"),
    binding(
        Topic::Look,
        &[Plain(KeyCode::Esc), Plain(KeyCode::Backspace)],
        "Esc",
        Command::Back,
        "close, zoom out, clear",
    ),
    binding(Topic::Look, &[Plain(Char('/'))], "/", Command::Search, "search"),
    binding(Topic::Look, &[Plain(Char('n'))], "n N", Command::NextMatch, "next, previous match"),
    binding(Topic::Look, &[Plain(Char('N'))], "N", Command::PreviousMatch, ""),
    binding(Topic::Show, &[Plain(Char('f'))], "f", Command::Filter, "filter, everywhere"),
    binding(Topic::Show, &[Plain(Char('s'))], "s", Command::Sort, "Paths: sort by another"),
    binding(Topic::Show, &[Plain(Char('r'))], "r", Command::Reverse, "Paths: other way round"),
    binding(Topic::Show, &[Plain(Char('g'))], "g", Command::Group, "Paths: group by caller, ..."),
    binding(Topic::Show, &[Plain(Char('w'))], "w", Command::Weight, "weigh bytes, pages, events"),
    binding(Topic::Show, &[Plain(Char('a'))], "a", Command::Allocator, "hide allocator frames"),
    binding(Topic::Show, &[Plain(Char('m'))], "m", Command::Variants, "merge variants (_noprof, ..)"),
    binding(Topic::Show, &[Plain(Char('z'))], "z", Command::Zero, "zero counters; again: undo"),
    binding(Topic::Show, &[Plain(Char('e'))], "e", Command::Export, "export what is seen"),
    binding(Topic::Run, &[Plain(Char(' ')), Plain(Char('p'))], "space p", Command::Pause, "hold the picture"),
    binding(Topic::Run, &[Plain(Char('+')), Plain(Char('='))], "+ -", Command::Faster, "read the maps faster, slower"),
    binding(Topic::Run, &[Plain(Char('-'))], "-", Command::Slower, ""),
    binding(Topic::Run, &[Plain(Char(','))], ", .", Command::StepBack, "recording: back, on in time"),
    binding(Topic::Run, &[Plain(Char('.'))], ".", Command::StepForward, ""),
    binding(Topic::Run, &[Plain(Char('t'))], "t", Command::Jump, "recording: jump to a time"),
    binding(Topic::Run, &[Ctrl('l')], "Ctrl-L", Command::Redraw, "draw everything anew"),
    binding(Topic::Run, &[Ctrl('z')], "Ctrl-Z", Command::Suspend, "to the shell; fg returns"),
    binding(Topic::Run, &[Plain(Char('?'))], "?", Command::Help, "these keys"),
    binding(Topic::Run, &[Plain(Char('q'))], "q", Command::Quit, "leave"),
    binding(Topic::Run, &[Ctrl('c')], "Ctrl-C", Command::Interrupt, "end the command, leave"),
];

/// What a key means in a mode; `None` where it means nothing.
pub fn decode(event: KeyEvent, mode: Mode) -> Option<Action> {
    if event.kind == KeyEventKind::Release {
        return None;
    }
    let key = if event.modifiers.contains(KeyModifiers::CONTROL) {
        match event.code {
            Char(letter) => Ctrl(letter.to_ascii_lowercase()),
            code => Plain(code),
        }
    } else {
        Plain(event.code)
    };
    let bound = || BINDINGS.iter().find(|binding| binding.keys.contains(&key)).map(|it| it.command);
    match mode {
        Mode::Commands => return bound().map(Action::Command),
        Mode::Help => return Some(Action::Command(bound().unwrap_or(Command::Back))),
        Mode::Text | Mode::Choice | Mode::Question => {}
    }
    if let Ctrl('z' | 'l') = key {
        return bound().map(Action::Command);
    }
    prompted(key, mode).map(Action::Prompt)
}

/// What a key means at a prompt.
fn prompted(key: Key, mode: Mode) -> Option<prompt::Key> {
    use prompt::Key;
    Some(match (mode, key) {
        (_, Ctrl('c')) => Key::Interrupt,
        (_, Plain(KeyCode::Esc)) | (Mode::Choice, Plain(Char('q'))) | (Mode::Question, Plain(Char('n' | 'N'))) => {
            Key::Cancel
        }
        (_, Plain(KeyCode::Enter)) => Key::Accept,
        (Mode::Text, Plain(Char(letter))) => Key::Letter(letter),
        (Mode::Text, Plain(KeyCode::Backspace) | Ctrl('h')) => Key::Erase,
        (Mode::Text, Ctrl('u' | 'w')) => Key::EraseAll,
        (Mode::Choice, Plain(KeyCode::Up | KeyCode::Left | Char('k' | 'h'))) => Key::Before,
        (Mode::Choice, Plain(KeyCode::Down | KeyCode::Right | KeyCode::Tab | Char('j' | 'l'))) => Key::After,
        // The second q means it.
        (Mode::Question, Plain(Char('y' | 'Y' | 'q'))) => Key::Yes,
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn press(code: KeyCode, modifiers: KeyModifiers, mode: Mode) -> Option<Action> {
        decode(KeyEvent::new(code, modifiers), mode)
    }

    #[test]
    fn no_key_means_two_things() {
        let keys: Vec<Key> = BINDINGS.iter().flat_map(|binding| binding.keys).copied().collect();
        for (at, key) in keys.iter().enumerate() {
            assert!(!keys[..at].contains(key), "{key:?} is bound twice");
        }
    }

    #[test]
    fn every_screen_has_its_number_as_key() {
        for screen in Screen::ALL {
            let digit = char::from_digit(u32::from(screen.number()), 10).expect("one digit");
            let action = press(Char(digit), KeyModifiers::NONE, Mode::Commands);
            assert!(matches!(action, Some(Action::Command(Command::Go(it))) if it == screen));
        }
    }

    #[test]
    fn letters_are_text_while_a_text_is_typed_and_control_keys_are_not() {
        let typed = |code, modifiers| match press(code, modifiers, Mode::Text) {
            Some(Action::Prompt(key)) => Some(key),
            _ => None,
        };
        assert_eq!(typed(Char('q'), KeyModifiers::NONE), Some(prompt::Key::Letter('q')));
        assert_eq!(typed(Char('G'), KeyModifiers::SHIFT), Some(prompt::Key::Letter('G')));
        assert_eq!(typed(Char('c'), KeyModifiers::CONTROL), Some(prompt::Key::Interrupt));
        assert_eq!(typed(Char('x'), KeyModifiers::CONTROL), None);
    }

    #[test]
    fn any_key_takes_the_help_away() {
        assert!(matches!(press(Char('X'), KeyModifiers::NONE, Mode::Help), Some(Action::Command(Command::Back))));
    }

    #[test]
    fn a_released_key_means_nothing() {
        let event = KeyEvent::new_with_kind(Char('q'), KeyModifiers::NONE, KeyEventKind::Release);
        assert!(decode(event, Mode::Commands).is_none());
    }
}
