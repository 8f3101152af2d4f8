//! The commands within a command line: behind `taskset`, `timeout`, `env`, `sh -c` and their like.
//!
//! Good enough to find a benchmark and its options; nothing is expanded, and nothing runs by it.

/// Programs that run another one: name, single-letter options with a value, long options with a value, and how many
/// words of their own stand before the command.
const WRAPPERS: &[(&str, &str, &[&str], usize)] = &[
    ("chrt", "DPT", &["--sched-runtime", "--sched-deadline", "--sched-period"], 1),
    ("command", "", &[], 0),
    ("doas", "Cu", &[], 0),
    ("env", "CSu", &["--chdir", "--unset"], 0),
    ("exec", "a", &[], 0),
    ("ionice", "cn", &["--class", "--classdata"], 0),
    ("nice", "n", &["--adjustment"], 0),
    ("nohup", "", &[], 0),
    ("numactl", "CNPimpw", &["--cpunodebind", "--interleave", "--membind", "--physcpubind", "--preferred"], 0),
    ("setsid", "", &[], 0),
    ("stdbuf", "eio", &["--error", "--input", "--output"], 0),
    ("sudo", "CDRTghprtu", &["--group", "--user"], 0),
    ("taskset", "", &[], 1),
    ("time", "fo", &["--format", "--output"], 0),
    ("timeout", "ks", &["--kill-after", "--signal"], 1),
];
const SHELLS: &[&str] = &["ash", "bash", "dash", "ksh", "sh", "zsh"];
/// Words of the shell that stand before a command.
const KEYWORDS: &[&str] = &["!", "do", "elif", "else", "if", "then", "until", "while", "{"];
/// Wrappers within wrappers that are taken off; no command line in earnest has more.
const DEEPEST: usize = 8;

/// The last part of a program's path.
pub(super) fn base_name(program: &str) -> &str {
    program.rsplit('/').next().unwrap_or(program)
}

/// Every command that `argv` runs as far as it shows, wrappers taken off.
pub(super) fn commands(argv: &[String]) -> Vec<Vec<String>> {
    let mut found = Vec::new();
    unwrap_into(&mut found, argv, DEEPEST);
    found
}

fn unwrap_into(found: &mut Vec<Vec<String>>, argv: &[String], depth: usize) {
    let assigned = argv.iter().take_while(|word| is_assignment(word) || KEYWORDS.contains(&word.as_str())).count();
    let argv = &argv[assigned..];
    let [program, rest @ ..] = argv else { return };
    let name = base_name(program);
    if depth == 0 {
        return;
    }
    if SHELLS.contains(&name) {
        let script =
            rest.iter().position(|word| word.starts_with('-') && !word.starts_with("--") && word.ends_with('c'));
        if let Some(script) = script.and_then(|at| rest.get(at + 1)) {
            for command in split(script) {
                unwrap_into(found, &command, depth - 1);
            }
        }
    } else if let Some((_, letters, long, own)) = WRAPPERS.iter().find(|(wrapper, ..)| *wrapper == name) {
        let start = (options_end(rest, letters, long) + own).min(rest.len());
        unwrap_into(found, &rest[start..], depth - 1);
    } else if let ("ip", Some(at)) = (name, rest.windows(2).position(|pair| pair == ["netns", "exec"])) {
        unwrap_into(found, rest.get(at + 3..).unwrap_or_default(), depth - 1);
    } else {
        found.push(argv.to_vec());
    }
}

fn options_end(words: &[String], letters: &str, long: &[&str]) -> usize {
    let mut at = 0;
    while let Some(word) = words.get(at).filter(|word| word.starts_with('-') && word.len() > 1) {
        at += 1;
        if word == "--" {
            break;
        }
        let is_value_next = if word.starts_with("--") {
            long.contains(&word.as_str())
        } else {
            word[1..].find(|letter| letters.contains(letter)).is_some_and(|value| value + 2 == word.len())
        };
        at += usize::from(is_value_next);
    }
    at
}

fn is_assignment(word: &str) -> bool {
    word.split_once('=').is_some_and(|(name, _)| {
        !name.is_empty() && name.chars().all(|letter| letter.is_ascii_alphanumeric() || letter == '_')
    })
}

/// The simple commands of a shell script, quotes taken off and redirections left out.
fn split(script: &str) -> Vec<Vec<String>> {
    let mut commands = vec![Vec::new()];
    let mut word: Option<String> = None;
    let mut is_redirection = false;
    let mut letters = script.chars().peekable();
    let mut end_word = |word: &mut Option<String>, is_redirection: &mut bool, ends_command: bool| {
        if let Some(word) = word.take()
            && !std::mem::take(is_redirection)
            && let Some(command) = commands.last_mut()
        {
            command.push(word);
        }
        if ends_command {
            *is_redirection = false;
            commands.push(Vec::new());
        }
    };
    while let Some(letter) = letters.next() {
        match letter {
            '\'' | '"' => {
                let word = word.get_or_insert_default();
                while let Some(quoted) = letters.next().filter(|quoted| *quoted != letter) {
                    let is_escape = letter == '"' && quoted == '\\';
                    word.extend(if is_escape { letters.next() } else { Some(quoted) });
                }
            }
            '\\' => {
                let escaped = letters.next().filter(|escaped| *escaped != '\n');
                if let Some(escaped) = escaped {
                    word.get_or_insert_default().push(escaped);
                }
            }
            '#' if word.is_none() => while letters.next_if(|comment| *comment != '\n').is_some() {},
            '<' | '>' => {
                // The number before it is a descriptor.
                word = word.filter(|word| !word.chars().all(|letter| letter.is_ascii_digit()));
                end_word(&mut word, &mut is_redirection, false);
                while letters.next_if(|more| matches!(more, '<' | '>' | '&' | '|')).is_some() {}
                is_redirection = true;
            }
            ';' | '&' | '|' | '(' | ')' | '`' | '\n' => end_word(&mut word, &mut is_redirection, true),
            _ if letter.is_whitespace() => end_word(&mut word, &mut is_redirection, false),
            _ => word.get_or_insert_default().push(letter),
        }
    }
    end_word(&mut word, &mut is_redirection, true);
    commands.retain(|command| !command.is_empty());
    commands
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(argv: &[&str]) -> Vec<String> {
        let argv: Vec<_> = argv.iter().map(ToString::to_string).collect();
        commands(&argv).iter().map(|command| command.join(" ")).collect()
    }

    #[test]
    fn wrappers_are_taken_off_with_their_own_options() {
        for wrapper in [
            "",
            "taskset -c 0",
            "taskset 0x3",
            "timeout 10",
            "timeout -s INT -k 5 --foreground 10",
            "timeout --signal=INT 10",
            "timeout --signal INT 10",
            "nice",
            "nice -n 5",
            "nice -n5",
            "nice -10",
            "env A=B C=",
            "env -u A -i B=1",
            "A=1 nohup",
            "stdbuf -oL",
            "chrt -f 50",
            "numactl -N 0 --membind=0",
            "ip netns exec blue",
            "sudo -u me",
            "time -p",
            "nice -n 5 taskset -c 1,3 timeout 9 env A=1",
        ] {
            let argv: Vec<_> = wrapper.split_whitespace().chain(["/opt/bin/netperf", "-t", "TCP_RR"]).collect();
            assert_eq!(found(&argv), ["/opt/bin/netperf -t TCP_RR"], "{wrapper}");
        }
    }

    #[test]
    fn scripts_are_taken_apart() {
        assert_eq!(found(&["sh", "-c", "netperf -t 'UDP_STREAM' -- -m \"64\""]), ["netperf -t UDP_STREAM -- -m 64"]);
        let loop_script = "for i in 1 2; do netperf -c >/tmp/$i 2>&1 & done; wait # netperf -C";
        assert_eq!(
            found(&["timeout", "9", "bash", "-ec", loop_script]),
            ["for i in 1 2", "netperf -c", "done", "wait"]
        );
        assert_eq!(
            found(&["sh", "-c", "A=1 nice netperf -4&&(sleep 1;netperf -6)|tee x"]),
            ["netperf -4", "sleep 1", "netperf -6", "tee x"]
        );
        assert_eq!(found(&["sh", "-c", "sh -c \"sh -c 'netperf -d'\""]), ["netperf -d"]);
    }

    #[test]
    fn nonsense_is_no_panic() {
        for argv in [
            &[][..],
            &[""],
            &["sh"],
            &["sh", "-c"],
            &["sh", "-c", "'"],
            &["sh", "-c", "\\"],
            &["sh", "-c", "\"\\"],
            &["sh", "-c", ">"],
            &["timeout"],
            &["timeout", "-k"],
            &["nice", "-"],
            &["env", "A=1"],
            &["ip", "netns", "exec"],
            &["chrt", "-é", "x"],
        ] {
            found(argv);
        }
        assert_eq!(found(&["echo", "netperf"]), ["echo netperf"]);
    }
}
