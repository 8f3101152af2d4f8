use std::time::Duration;
use tracer::{collect::Collector, config::*, probe::{*, kernel::Kernel, sizes::Sizes}};
fn main() -> anyhow::Result<()> {
    let paths = match std::env::args().nth(1).as_deref() { Some("unwound") => Paths::Unwound, Some("off") => Paths::Off, _ => Paths::Exact };
    let audit = std::env::args().nth(2).map_or(4096, |a| a.parse().unwrap());
    let config = Config { signals: vec!["page.alloc".into()], paths, audit, min_order: 0, gfp: 0, filter: Filter::default(), by: None, interval: Duration::from_millis(250), verbose: true };
    let kernel = Kernel::read()?;
    let syms = std::fs::read_to_string("/proc/kallsyms")?;
    let find = |n: &str| syms.lines().find(|l| l.split_whitespace().nth(2) == Some(n)).map(|l| u64::from_str_radix(&l[..16], 16).unwrap()).unwrap_or(0);
    let hs = find("handle_softirqs");
    let text = Text { cuts: vec![(find("__irqentry_text_start"), find("__irqentry_text_end")), (find("__softirqentry_text_start"), find("__softirqentry_text_end")), (hs, hs + 0x300)], entry: Some((find("__entry_text_start"), find("__entry_text_end"))) };
    eprintln!("{text:x?}");
    let t = std::time::Instant::now();
    let probe = Probe::attach(&config, Some(&kernel), &text, Sizes::for_cpus(2))?;
    eprintln!("attached in {:?} {:?} {:?}", t.elapsed(), probe.paths, probe.signals);
    let mut c = Collector::new(&probe, &config)?;
    let mut n = 0;
    let secs: u64 = std::env::args().nth(3).map_or(5, |a| a.parse().unwrap());
    for _ in 0..secs { std::thread::sleep(Duration::from_secs(1)); let t = std::time::Instant::now(); let b = c.read(&probe, Duration::ZERO); n += b.counts.iter().map(|c| c.events).sum::<u64>();
      eprintln!("read {:?} counts {} sum {n} totals {} losses {:?} audit {:?} paths {}", t.elapsed(), b.counts.len(), b.totals.iter().map(|t| t.allocated+t.failed).sum::<u64>(), b.losses, b.audit, b.paths.len());
      for p in &b.programs { if let (Some(t), Some(n)) = (p.run_time_ns, p.run_count) { eprintln!("{} {} ns/event missed {}", p.hook, t / n, p.missed); } }
      c.dump();
    }
    Ok(())
}
