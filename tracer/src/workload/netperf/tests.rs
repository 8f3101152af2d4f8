//! Against outputs of netperf 2.7.0 on loopback (`tests/data/netperf`), and against outputs published elsewhere or
//! written after netperf's source where this netperf cannot print them (SCTP). Figures are copied by eye.

use super::super::{interim, parse};
use crate::run::{Benchmark, Score};

macro_rules! data {
    ($name:literal) => {
        include_str!(concat!("../../../tests/data/netperf/", $name, ".txt"))
    };
}

fn words(command: &str) -> Vec<String> {
    command.split_whitespace().map(str::to_owned).collect()
}

/// What a netperf with these options printed.
fn read(options: &str, stdout: &str) -> Benchmark {
    let benchmark = parse(&words(&format!("netperf {options}")), stdout, "");
    assert_eq!(benchmark.tool, "netperf");
    assert_eq!(benchmark.stdout, stdout);
    benchmark
}

/// `metric side value unit`, a line each.
fn figures(benchmark: &Benchmark) -> Vec<String> {
    let shown = |score: &Score| format!("{} {} {} {}", score.metric, score.side, score.value, score.unit);
    benchmark.results.iter().map(shown).collect()
}

fn work(benchmark: &Benchmark) -> (String, f64) {
    benchmark.work.clone().map_or_else(|| ("none".into(), 0.0), |work| (work.unit, work.amount))
}

#[track_caller]
fn assert_near(found: f64, expected: f64) {
    assert!((found - expected).abs() <= expected.abs() * 1e-9, "{found} is not {expected}");
}

#[track_caller]
fn assert_warned(benchmark: &Benchmark, parts: &[&str]) {
    assert_eq!(benchmark.warnings.len(), parts.len(), "{:?}", benchmark.warnings);
    for (warning, part) in benchmark.warnings.iter().zip(parts) {
        assert!(warning.contains(part), "`{part}` is not in `{warning}`");
    }
}

#[test]
fn udp_stream_has_both_sides_and_counts_what_was_lost() {
    let benchmark = read("-t UDP_STREAM -l 1 -- -m 8192", data!("udp_stream_8192"));
    assert_eq!((benchmark.test.as_str(), benchmark.instances), ("UDP_STREAM", 1));
    assert_eq!(
        figures(&benchmark),
        [
            "throughput send 9723.92 Mbit/s",
            "messages send 148386 messages",
            "message_errors send 0 messages",
            "elapsed send 1 s",
            "throughput receive 9671.37 Mbit/s",
            "messages receive 147584 messages",
            "elapsed receive 1 s",
        ]
    );
    let lower_is_better = |score: &&Score| score.lower_is_better;
    let lower: Vec<_> = benchmark.results.iter().filter(lower_is_better).map(|score| score.metric.as_str()).collect();
    assert_eq!(lower, ["message_errors"]);
    assert_eq!(work(&benchmark), ("message".into(), 148_386.0));
    assert_eq!(benchmark.warnings, ["802 of 148386 messages (0.54 %) were not received"]);
}

#[test]
fn udp_stream_at_other_sizes_and_units() {
    let small = read("-t UDP_STREAM -- -m 64", data!("udp_stream_64"));
    assert!(figures(&small).contains(&"throughput send 91.04 Mbit/s".into()));
    assert_eq!(work(&small), ("message".into(), 177_833.0));
    let gigabits = read("-t UDP_STREAM -f g -- -m 8192", data!("udp_stream_gigabits"));
    assert!(figures(&gigabits).contains(&"throughput receive 8.78 Gbit/s".into()));
    let headless = read("-t UDP_STREAM -P 0 -- -m 1024", data!("udp_stream_headless"));
    assert!(figures(&headless).contains(&"throughput send 1166.91 Mbit/s".into()));
    assert!(figures(&headless).contains(&"messages receive 137698 messages".into()));
    let kilobits = read("-t UDP_STREAM -fk -P0", data!("udp_stream_headless"));
    assert!(figures(&kilobits).contains(&"throughput send 1166.91 kbit/s".into()));
    let terse = read("-t UDP_STREAM -v 0", data!("udp_stream_terse"));
    assert_eq!(figures(&terse), ["throughput send 1186.09 Mbit/s"]);
    assert_eq!(terse.work, None);
}

#[test]
fn udp_stream_with_processor_use_of_both_ends() {
    let benchmark = read("-t UDP_STREAM -c -C -- -m 65507", data!("udp_stream_65507_cpu"));
    assert_eq!(
        figures(&benchmark),
        [
            "throughput send 38901.8 Mbit/s",
            "messages send 74240 messages",
            "message_errors send 0 messages",
            "cpu_utilisation send 86.52 %",
            "service_demand send 0.364 us/KB",
            "elapsed send 1 s",
            "throughput receive 37699.7 Mbit/s",
            "messages receive 71946 messages",
            "cpu_utilisation receive 86.52 %",
            "service_demand receive 0.364 us/KB",
            "elapsed receive 1 s",
        ]
    );
    // The default buffer holds three such messages: it has its part in the loss.
    assert_warned(&benchmark, &["2294 of 74240 messages (3.09 %)", "212992 bytes holds 3 messages of 65507 bytes"]);
}

/// 2.97 % of 36,395,320 messages, and the receive rate is not the send rate.
const PUBLISHED_UDP: &str = "\
MIGRATED UDP STREAM TEST from 0.0.0.0 (0.0.0.0) port 0 AF_INET to 127.0.0.1 () port 0 AF_INET : demo
Socket  Message  Elapsed      Messages                   CPU      Service
Size    Size     Time         Okay Errors   Throughput   Util     Demand
bytes   bytes    secs            #      #   10^6bits/sec % SS     us/KB

212992   65507   300.00   36395320      0    63577.2     24.11    3.977
212992           300.00   35314623           61689.4     24.11    3.977

";

#[test]
fn a_published_udp_stream_reads_as_published() {
    let benchmark = read("-4 -H 127.0.0.1 -t UDP_STREAM -c -C -l 300", PUBLISHED_UDP);
    let figures = figures(&benchmark);
    for figure in [
        "throughput send 63577.2 Mbit/s",
        "throughput receive 61689.4 Mbit/s",
        "cpu_utilisation send 24.11 %",
        "service_demand receive 3.977 us/KB",
    ] {
        assert!(figures.contains(&figure.to_owned()), "{figure}");
    }
    assert_eq!(benchmark.warnings[0], "1080697 of 36395320 messages (2.97 %) were not received");

    let sixteen = parse(&[], &PUBLISHED_UDP.repeat(16), "");
    assert_eq!((sixteen.tool.as_str(), sixteen.test.as_str(), sixteen.instances), ("netperf", "UDP_STREAM", 16));
    assert_eq!(work(&sixteen), ("message".into(), 16.0 * 36_395_320.0));
    assert_eq!(sixteen.warnings[0], "17291152 of 582325120 messages (2.97 %) were not received");
    assert!(sixteen.warnings[1].contains("in 16 of 16 instances"), "{:?}", sixteen.warnings);
    assert!(sixteen.warnings[2].contains("service demand"), "{:?}", sixteen.warnings);
}

#[test]
fn the_classic_banner_and_a_folded_one_are_known() {
    for banner in [
        "UDP UNIDIRECTIONAL SEND TEST to 192.168.0.28",
        "UDP UNIDIRECTIONAL SEND TEST from 0.0.0.0 (0.0.0.0)\n port 15895 AF_INET to 127.0.0.1 (127.0.0.1) port 15895 AF_INET",
    ] {
        let text = format!(
            "{banner}\nbytes   bytes    secs            #      #   10^6bits/sec\n\n  4608    1024   60.00     50024301      0    6829.98\r\n  2560           60.00     46133211           6298.72\n"
        );
        let benchmark = parse(&words("./mine.sh"), &text, "");
        assert_eq!((benchmark.test.as_str(), work(&benchmark).1), ("UDP_STREAM", 50_024_301.0), "{banner}");
        assert_warned(
            &benchmark,
            &["3891090 of 50024301 messages (7.78 %)", "2560 bytes holds 2 messages of 1024 bytes"],
        );
    }
}

#[test]
fn a_receive_rate_of_nothing_is_a_result_and_told() {
    let text = "bytes   bytes    secs            #      #   10^6bits/sec\n\n124928   65000   10.00       53595      0    2786.99\n 65536           10.00           0              0.00\n";
    let benchmark = read("-t UDP_STREAM", text);
    assert!(figures(&benchmark).contains(&"throughput receive 0 Mbit/s".into()));
    assert!(figures(&benchmark).contains(&"messages receive 0 messages".into()));
    assert_warned(
        &benchmark,
        &["53595 of 53595 messages (100.00 %)", "nothing at all was received", "holds 1 message of 65000"],
    );
}

#[test]
fn a_receive_buffer_barely_above_the_message_is_told() {
    let benchmark = read("-t UDP_STREAM -- -s 1280 -S 1280 -m 1024", data!("udp_stream_small_buffer"));
    assert_warned(&benchmark, &["101318 of 164460 messages (61.61 %)", "2560 bytes holds 2 messages of 1024 bytes"]);
    // Sizes after the `--` are where they belong; large enough buffers are no topic.
    assert_warned(&read("-t UDP_STREAM", data!("udp_stream_64")), &["107 of 177833"]);
}

#[test]
fn streams_of_tcp_have_one_rate_and_carry_gigabits() {
    for (options, text, test, rate, gigabits) in [
        ("", data!("tcp_stream"), "TCP_STREAM", "20678.99 Mbit/s", 20.678_99),
        ("-f k", data!("tcp_stream_kilobits"), "TCP_STREAM", "21474227.31 kbit/s", 21.474_227_31),
        // 2387.43 * 8 * 1,048,576 bits a second.
        ("-f M", data!("tcp_stream_megabytes"), "TCP_STREAM", "2387.43 MiB/s", 20.027_214_397_44),
        ("-t TCP_MAERTS", data!("tcp_maerts"), "TCP_MAERTS", "18305.11 Mbit/s", 18.305_11),
        ("-t TCP_SENDFILE", data!("tcp_sendfile"), "TCP_SENDFILE", "20615.44 Mbit/s", 20.615_44),
        ("-P 0 -B mine", data!("tcp_stream_branded"), "TCP_STREAM", "15948.8 Mbit/s", 15.9488),
    ] {
        let benchmark = read(options, text);
        assert_eq!(benchmark.test, test);
        assert_eq!(figures(&benchmark), [format!("throughput both {rate}"), "elapsed both 1 s".into()], "{options}");
        let (unit, amount) = work(&benchmark);
        assert_eq!(unit, "gigabit");
        assert_near(amount, gigabits);
        assert_eq!(benchmark.warnings, [""; 0]);
    }
}

#[test]
fn what_was_not_measured_is_no_figure() {
    assert_eq!(
        figures(&read("-c -C", data!("tcp_stream_cpu"))),
        [
            "throughput both 22077.52 Mbit/s",
            "cpu_utilisation send 82.93 %",
            "service_demand send 0.615 us/KB",
            "cpu_utilisation receive 82.93 %",
            "service_demand receive 0.615 us/KB",
            "elapsed both 1 s",
        ]
    );
    assert_eq!(
        figures(&read("-c", data!("tcp_stream_local_cpu"))),
        [
            "throughput both 21525.77 Mbit/s",
            "cpu_utilisation send 82.81 %",
            "service_demand send 0.63 us/KB",
            "elapsed both 1 s",
        ]
    );
    assert_eq!(
        figures(&read("-t TCP_CRR -c", data!("tcp_crr_local_cpu"))),
        [
            "transactions both 10534.69 transactions/s",
            "cpu_utilisation send 64.6 %",
            "service_demand send 122.633 us/transaction",
            "elapsed both 1 s",
        ]
    );
    assert_eq!(figures(&read("-c -v 0", data!("tcp_stream_terse_cpu"))), ["service_demand send 0.772 us/KB"]);
    // The local end of a backward stream receives.
    let backwards = data!("tcp_stream_local_cpu").replace("STREAM", "MAERTS");
    assert!(figures(&read("-t TCP_MAERTS", &backwards)).contains(&"cpu_utilisation receive 82.81 %".into()));
}

#[test]
fn requests_and_responses_count_transactions() {
    for (options, text, test, rate) in [
        ("-t TCP_RR", data!("tcp_rr"), "TCP_RR", 28_419.55),
        ("-t UDP_RR", data!("udp_rr"), "UDP_RR", 31_691.37),
        ("-t TCP_RR", data!("tcp_rr_burst"), "TCP_RR", 70_122.46),
        ("-t TCP_RR -P 0", data!("tcp_rr_headless"), "TCP_RR", 26_392.98),
    ] {
        let benchmark = read(options, text);
        assert_eq!(benchmark.test, test);
        assert_eq!(
            figures(&benchmark),
            [format!("transactions both {rate} transactions/s"), "elapsed both 1 s".into()]
        );
        assert_eq!(work(&benchmark), ("transaction".into(), rate));
        assert_eq!(benchmark.warnings, [""; 0]);
    }
    assert_eq!(
        figures(&read("-t TCP_RR -c -C", data!("tcp_rr_cpu")))[1..],
        [
            "cpu_utilisation send 56.4 %",
            "service_demand send 40.804 us/transaction",
            "cpu_utilisation receive 56.4 %",
            "service_demand receive 40.804 us/transaction",
            "elapsed both 1 s",
        ]
    );
}

#[test]
fn a_rate_in_bits_still_tells_the_transactions() {
    let benchmark = read("-t TCP_RR -f k", data!("tcp_rr_kilobits"));
    assert_eq!(figures(&benchmark)[0], "throughput both 436.12 kbit/s");
    // One byte each way: 436,120 / 16 bits.
    assert_eq!(work(&benchmark), ("transaction".into(), 27_257.5));
}

#[test]
fn verbose_rows_add_the_latency_and_hide_nothing() {
    let benchmark = read("-t TCP_RR -v 2 -c -C", data!("tcp_rr_verbose"));
    assert_eq!(figures(&benchmark)[0], "transactions both 27713.97 transactions/s");
    assert_eq!(
        figures(&benchmark)[6..],
        ["round_trip_latency both 36.083 us", "throughput send 0.222 Mbit/s", "throughput receive 0.222 Mbit/s",]
    );
    let stream = read("-v 2 -c -C", data!("tcp_stream_verbose"));
    assert_eq!((figures(&stream)[0].as_str(), stream.instances), ("throughput both 16958.87 Mbit/s", 1));
    assert_eq!(stream.results.len(), 6);

    let published = "\
TCP REQUEST/RESPONSE TEST from 0.0.0.0 (0.0.0.0) port 0 AF_INET to host (10.0.0.1) port 0 AF_INET : first burst 6
bytes  Bytes  bytes    bytes   secs.    10^6bits/sec

49152  98304  32768    32768   10.00    1820.98
524288 524288
Alignment      Offset         RoundTrip  Trans    Throughput
Local  Remote  Local  Remote  Latency    Rate     10^6bits/s
Send   Recv    Send   Recv    usec/Tran  per sec  Outbound   Inbound
    8      0       0      0   2015.402   3473.252 910.492   910.492
";
    let published = read("-t TCP_RR -v 2 -f m -- -r 32K -b 6", published);
    assert_eq!(
        figures(&published),
        [
            "throughput both 1820.98 Mbit/s",
            "elapsed both 10 s",
            "round_trip_latency both 2015.402 us",
            "throughput send 910.492 Mbit/s",
            "throughput receive 910.492 Mbit/s",
        ]
    );
    // The row's own 3473.252 a second, as exactly as two digits of its throughput tell.
    let (unit, amount) = work(&published);
    assert_eq!(unit, "transaction");
    assert!((amount - 34_732.52).abs() < 0.1, "{amount}");
}

/// An SCTP test's output as `nettest_sctp.c` writes it, with this row.
fn sctp_stream(banner: &str, row: &str) -> String {
    format!(
        "{banner} from 0.0.0.0 (0.0.0.0) port 0 AF_INET to 127.0.0.1 (127.0.0.1) port 0 AF_INET
Recv   Send    Send                          Utilization       Service Demand
Socket Socket  Message  Elapsed              Send     Recv     Send    Recv
Size   Size    Size     Time     Throughput  local    remote   local   remote
bytes  bytes   bytes    secs.    10^6bits/s  % S      % S      us/KB   us/KB

{row}
"
    )
}

#[test]
fn sctp_tests_read_as_their_source_prints_them() {
    let row = "212992 212992  10240    300.00     7572.02   32.07    32.07    44.406  44.406 ";
    let many = read("-t SCTP_STREAM_MANY -c -C -l 300 -- -m 10K", &sctp_stream("SCTP 1-TO-MANY STREAM TEST", row));
    assert_eq!((many.test.as_str(), many.warnings.len()), ("SCTP_STREAM_MANY", 0));
    assert_eq!(
        figures(&many)[..3],
        ["throughput both 7572.02 Mbit/s", "cpu_utilisation send 32.07 %", "service_demand send 44.406 us/KB",]
    );
    let (unit, amount) = work(&many);
    assert_eq!(unit, "gigabit");
    assert_near(amount, 2271.606);

    let plain = "SCTP STREAM TEST from 0.0.0.0 (0.0.0.0) port 0 AF_INET to 127.0.0.1 (127.0.0.1) port 0 AF_INET
Recv   Send    Send                          \nSocket Socket  Message  Elapsed              \nSize   Size    Size     Time     Throughput  
bytes  bytes   bytes    secs.    10^6bits/sec  \n\n212992 212992   1452    60.00    1125.52   \n";
    let published = "-S 200000,200000 -s 200000,200000 -l 60 -t SCTP_STREAM -- -m 1452";
    let benchmark = read(published, plain);
    assert_eq!(benchmark.test, "SCTP_STREAM");
    assert_eq!(figures(&benchmark), ["throughput both 1125.52 Mbit/s", "elapsed both 60 s"]);
    assert_warned(&benchmark, &["`-S` before the `--`", "`-s` before the `--`"]);

    for (banner, test) in
        [("SCTP REQUEST/RESPONSE TEST", "SCTP_RR"), ("SCTP 1-TO-MANY REQUEST/RESPONSE TEST", "SCTP_RR_MANY")]
    {
        let text = format!(
            "{banner} from 0.0.0.0 (0.0.0.0) port 0 AF_INET to 127.0.0.1 (127.0.0.1) port 0 AF_INET
Local /Remote
Socket Size   Request  Resp.   Elapsed  Trans.
Send   Recv   Size     Size    Time     Rate         
bytes  Bytes  bytes    bytes   secs.    per sec   

212992 212992 1        1       60.00      40.75   
212992 212992
"
        );
        let benchmark = read(&format!("-t {test}"), &text);
        assert_eq!(benchmark.test, test);
        assert_eq!(figures(&benchmark), ["transactions both 40.75 transactions/s", "elapsed both 60 s"]);
        assert_eq!(work(&benchmark), ("transaction".into(), 2445.0));
    }
}

#[test]
fn sixty_four_instances_have_a_mean_a_total_and_each_its_own() {
    // Shell log lines first, as the harness that published this printed them; rates that sum to its total.
    let log = "2016-08-01 10:00:00 netperf -4 -t SCTP_STREAM_MANY -c -C -l 300 -- -m 10K -H 127.0.0.1 &\n".repeat(64);
    let rates = [7572.02, 7960.45].into_iter().chain([7960.47; 62]);
    let block = |rate| {
        let row = format!("212992 212992  10240    300.00     {rate}   32.07    32.07    44.406  44.406 ");
        sctp_stream("SCTP 1-TO-MANY STREAM TEST", &row)
    };
    let text = log + &rates.map(block).collect::<String>();
    let benchmark = parse(&words("sh run.sh"), &text, "");
    assert_eq!((benchmark.instances, benchmark.test.as_str()), (64, "SCTP_STREAM_MANY"));
    let of = |metric: &'static str| {
        benchmark.results.iter().filter(move |score| score.metric == metric).map(|score| score.value)
    };
    assert_near(of("throughput_total").next().unwrap(), 509_081.61);
    assert_near(of("throughput").next().unwrap(), 509_081.61 / 64.0);
    assert_eq!(of("throughput_instance").collect::<Vec<_>>()[..3], [7572.02, 7960.45, 7960.47]);
    assert_eq!(of("throughput_instance").count(), 64);
    assert_near(of("elapsed").next().unwrap(), 300.0);
    assert_warned(&benchmark, &["service demand"]);
}

#[test]
fn instances_that_write_into_each_others_output_are_told_apart() {
    let udp = parse(&words("sh -c netperf"), data!("three_instances_udp"), "");
    assert_eq!((udp.instances, work(&udp)), (3, ("message".into(), 173_942.0)));
    let first = &udp.results[0];
    assert_near(first.value, (467.4 + 484.4 + 471.6) / 3.0);
    assert!(figures(&udp).contains(&"messages receive 45001 messages".into()));
    assert_eq!(udp.warnings[0], "128941 of 173942 messages (74.13 %) were not received");

    let rr = parse(&words("taskset -c 0 sh -c x"), data!("three_instances_rr"), "");
    assert_eq!((rr.test.as_str(), rr.instances, rr.warnings.len()), ("TCP_RR", 3, 0));
    assert_near(rr.results[1].value, 12_171.42 + 12_204.36 + 12_211.10);

    // The worst order: all headers, then rows of both kinds as they may come, with lines of others between.
    let lines: Vec<_> = PUBLISHED_UDP.lines().collect();
    let (header, send, receive) = (lines[..5].join("\n"), lines[5], lines[6]);
    let second_send = send.replace("36395320", "11111111");
    let second_receive = receive.replace("35314623", "10000000");
    let noise = "netperf: get_sock_buffer: getsockopt SO_RCVBUF: errno 92";
    let mixed = format!("{header}\n{header}\n{send}\n{noise}\n{second_send}\n 1 2 3\n{receive}\n\n{second_receive}\n");
    let mixed = parse(&[], &mixed, "");
    assert_eq!((mixed.instances, work(&mixed).1), (2, 36_395_320.0 + 11_111_111.0));
    assert_eq!(mixed.warnings[0], "2191808 of 47506431 messages (4.61 %) were not received");
    assert!(mixed.warnings.iter().all(|warning| !warning.contains("get_sock_buffer")), "{:?}", mixed.warnings);
}

#[test]
fn several_tests_in_one_output_are_not_mixed() {
    let text = [data!("tcp_stream"), data!("udp_stream_8192"), data!("tcp_rr"), data!("tcp_rr_burst")].concat();
    let benchmark = parse(&[], &text, "");
    assert_eq!((benchmark.test.as_str(), benchmark.instances), ("TCP_STREAM,UDP_STREAM,TCP_RR", 4));
    assert_eq!(benchmark.work, None);
    let figures = figures(&benchmark);
    assert!(figures.contains(&"throughput both 20678.99 Mbit/s".into()), "{figures:?}");
    let total = benchmark.results.iter().find(|score| score.metric == "transactions_total").unwrap();
    assert_near(total.value, 28_419.55 + 70_122.46);
    assert!(benchmark.warnings.iter().any(|warning| warning.contains("several tests")), "{:?}", benchmark.warnings);
}

#[test]
fn a_confidence_missed_is_told_with_what_was_wanted() {
    let benchmark = read("-t UDP_STREAM -i 3,3 -I 99,1 -c -C -- -m 1024", data!("udp_stream_confidence"));
    assert!(figures(&benchmark).contains(&"throughput send 1444.2 Mbit/s".into()));
    let missed = "not reached: throughput is ±7.0785 % where ±0.5 % at 99 % was wanted";
    assert_warned(&benchmark, &["15 of 176318", missed]);

    // Printed with one digit by older ones, with `-P 0` without a banner.
    let block = "!!! WARNING\n!!! Desired confidence was not achieved within the specified iterations.\n!!! Confidence intervals: Throughput      :  6.8%\n!!!                       Local CPU util  :  0.0%\n\n 32768  16384  16384    10.01      40.23\n";
    let headless = read("-P 0 -I 99,5 -i 3", block);
    assert_eq!(figures(&headless)[0], "throughput both 40.23 Mbit/s");
    assert_warned(&headless, &["±3.4 % where ±2.5 % at 99 % was wanted"]);
    let old = "TCP STREAM TEST from 0.0.0.0 port 0 AF_INET to host port 0 AF_INET : +/-2.5%  99% conf.\nbytes  bytes   bytes    secs.    10^6bits/sec\n";
    assert_warned(&read("-i 3", &format!("{old}{block}")), &["±3.4 % where ±2.5 % at 99 % was wanted"]);

    let keyed = read("-i 3,3 -I 99,1 -- -k x", data!("keyval_confidence"));
    assert_warned(&keyed, &["±30.621 % where ±0.5 % at 99 % was wanted"]);
    assert_warned(&read("-t omni -i 3,3 -I 99,1", data!("omni_confidence")), &["does not say"]);
}

#[test]
fn interim_results_are_read_alone_and_passed_over_before_a_result() {
    let score = interim("Interim result: 20253.53 10^6bits/s over 0.513 seconds ending at 1796068701.943").unwrap();
    assert_eq!((score.metric.as_str(), score.value, score.unit.as_str()), ("throughput", 20253.53, "Mbit/s"));
    let score = interim("Interim result: 29335.60 Trans/s over 0.508 seconds ending at 1796068715.078").unwrap();
    assert_eq!((score.metric.as_str(), score.value, score.unit.as_str()), ("transactions", 29335.6, "transactions/s"));
    for other in [
        "",
        "Interim result:",
        "Interim result: x 10^6bits/s over 1 seconds",
        "131072  16384  16384    2.00     21516.48",
    ] {
        assert_eq!(interim(other), None, "{other}");
    }
    let stream = read("-D 0.5 -l 2", data!("tcp_stream_interim"));
    assert_eq!(figures(&stream), ["throughput both 21516.48 Mbit/s", "elapsed both 2 s"]);
    let udp = read("-t UDP_STREAM -D 0.5 -l 2", data!("udp_stream_interim"));
    assert_eq!(work(&udp), ("message".into(), 287_337.0));
}

#[test]
fn an_interrupted_test_has_its_result_and_a_killed_one_what_it_told() {
    // SIGINT ends the test early.
    let interrupted = read("-t TCP_RR -D 0.3", data!("interrupted_rr"));
    assert_eq!(figures(&interrupted), ["transactions both 18801.38 transactions/s", "elapsed both 0.99 s"]);
    // SIGTERM ends netperf.
    let killed = read("-D 0.3", data!("killed_stream"));
    assert_eq!((killed.instances, killed.results.len()), (0, 1));
    let score = &killed.results[0];
    assert_eq!(
        (score.metric.as_str(), score.unit.as_str(), score.lower_is_better),
        ("throughput_interim", "Mbit/s", false)
    );
    assert_near(score.value, (7903.97 * 0.601 + 8297.08 * 0.3) / 0.901);
    assert_near(work(&killed).1, (7903.97 * 0.601 + 8297.08 * 0.3) / 1000.0);
    assert_warned(&killed, &["no result", "the mean of 2 interim results of 0.90 s"]);
    let (unit, amount) = work(&read("-t TCP_RR -D 0.3", data!("killed_rr")));
    assert_eq!(unit, "transaction");
    assert_near(amount, 24534.30 * 0.305 + 23071.09 * 0.319 + 19903.49 * 0.348);
}

#[test]
fn named_fields_are_read_in_all_their_forms() {
    let udp = read("-t omni -- -T udp -m 8192 -k THROUGHPUT", data!("keyval_udp"));
    assert_eq!(
        figures(&udp),
        [
            "throughput send 4968.95 Mbit/s",
            "throughput receive 4894.9 Mbit/s",
            "messages send 75830 messages",
            "messages receive 74700 messages",
            "elapsed both 1 s",
        ]
    );
    assert_eq!((udp.test.as_str(), work(&udp)), ("OMNI", ("message".into(), 75_830.0)));
    assert_eq!(udp.warnings, ["1130 of 75830 messages (1.49 %) were not received"]);

    let all = read("-c -C -- -k all", data!("keyval_all"));
    assert_eq!(
        figures(&all)[..5],
        [
            "throughput both 14742.82 Mbit/s",
            "cpu_utilisation send 86.21 %",
            "service_demand send 0.958 us/KB",
            "cpu_utilisation receive 86.21 %",
            "service_demand receive 0.958 us/KB",
        ]
    );
    assert_eq!(work(&all), ("gigabit".into(), 14.742_82));
    let all = read("-t UDP_STREAM -- -k all", data!("keyval_all_udp"));
    assert_eq!(work(&all), ("message".into(), 154_164.0));
    assert_eq!(all.warnings, ["759 of 154164 messages (0.49 %) were not received"]);

    // The one rate of a datagram test is the receiver's.
    let separated = read("-t UDP_STREAM -- -o", data!("separated_udp"));
    assert_eq!(figures(&separated), ["throughput receive 1364.17 Mbit/s", "elapsed both 1 s"]);
    for (options, text, figures_expected) in [
        ("-t TCP_RR -- -o", data!("separated_rr"), ["transactions both 29870.77 transactions/s", "elapsed both 1 s"]),
        ("-- -O", data!("columns_tcp"), ["throughput both 18619.59 Mbit/s", "elapsed both 1 s"]),
        ("-t omni", data!("columns_omni"), ["throughput both 16364.15 Mbit/s", "elapsed both 1 s"]),
    ] {
        assert_eq!(figures(&read(options, text)), figures_expected, "{options}");
    }
    let columns = read("-t UDP_RR -- -O x", data!("columns_rr"));
    assert_eq!(
        figures(&columns),
        [
            "transactions both 9311.95 transactions/s",
            "latency_mean both 107.2 us",
            "latency_p99 both 3970 us",
            "elapsed both 1 s",
        ]
    );
    assert!(columns.results[1].lower_is_better);
}

#[test]
fn fields_without_a_measurement_are_left_out() {
    let text = "THROUGHPUT=12.50\nTHROUGHPUT_UNITS=10^9bits/s\nLOCAL_CPU_UTIL=-1.00\nREMOTE_CPU_UTIL=-nan\nLOCAL_SD=inf\nELAPSED_TIME=0.00\n";
    let benchmark = parse(&words("./mine"), text, "");
    assert_eq!((benchmark.tool.as_str(), benchmark.results.len(), benchmark.work.as_ref()), ("netperf", 0, None));
    assert!(benchmark.warnings.iter().any(|warning| warning.contains("elapsed time is 0")), "{:?}", benchmark.warnings);

    let timed = text.replace("0.00\n", "2.00\n").repeat(2);
    let benchmark = parse(&words("./mine"), &timed, "");
    assert_eq!((benchmark.instances, work(&benchmark)), (2, ("gigabit".into(), 50.0)));
    assert!(benchmark.results.iter().all(|score| score.metric != "cpu_utilisation"));

    let untimed = read("-- -k THROUGHPUT", "THROUGHPUT=15152.72\n");
    assert_eq!((figures(&untimed), untimed.work), (vec!["throughput both 15152.72 Mbit/s".into()], None));
}

#[test]
fn a_run_without_a_result_says_why() {
    let server = read("-p 12999", data!("no_netserver"));
    assert_eq!((server.instances, server.results.len()), (0, 0));
    assert_warned(
        &server,
        &["no result", "start `netserver` there (`establish control: are you sure", "could not establish"],
    );

    assert_warned(&read("-t SCTP_STREAM", data!("unknown_test")), &["no result", "lacks the test"]);

    let stderr = "netperf: send_omni: send_data failed: Message too long";
    let long = parse(&words("netperf -t UDP_STREAM -- -m 70000"), data!("message_too_long"), stderr);
    assert_warned(&long, &["no result", "its messages are too long"]);

    let refused = parse(
        &words("netperf -t SCTP_STREAM"),
        "",
        "netperf: data socket connect failed: Cannot allocate \x1b[1mmemory\n",
    );
    assert_warned(&refused, &["no result", "Cannot allocate \u{fffd}[1mmemory`"]);

    // One of two has no result: the other's still is one.
    let half = format!("{}{}", data!("message_too_long"), data!("udp_stream_64"));
    let half = parse(&[], &half, "");
    assert_eq!(half.instances, 1);
    assert!(half.warnings[0].contains("1 of 2 instances"), "{:?}", half.warnings);
}

#[test]
fn processor_time_from_elsewhere_than_proc_stat_is_told() {
    let looped = data!("tcp_stream_cpu").replace("% S ", "% L ");
    assert_warned(&read("-c -C", &looped), &["method `L`"]);
    // Published with values that cannot be: negative ones are no measurement.
    let broken = data!("tcp_stream_cpu").replace("82.93", "-3429.75").replace("0.615", "-478.264");
    assert_eq!(figures(&read("-c -C", &broken)), ["throughput both 22077.52 Mbit/s", "elapsed both 1 s"]);
    let spaced = data!("tcp_stream_cpu").replace("10^6bits/s ", "MBytes  /s ");
    assert_eq!(figures(&read("-c -C -f M", &spaced))[0], "throughput both 22077.52 MiB/s");
}

#[test]
fn a_line_of_a_million_words_takes_no_long_time() {
    let began = std::time::Instant::now();
    assert_eq!(read("", &format!("Throughput\n{}\n", "1 ".repeat(1 << 20))).instances, 0);
    assert!(began.elapsed().as_secs() < 20, "{:?}", began.elapsed());
}

#[test]
fn every_prefix_of_an_output_is_read_without_a_panic() {
    for text in [
        data!("udp_stream_confidence"),
        data!("tcp_rr_verbose"),
        data!("keyval_udp"),
        data!("separated_rr"),
        data!("columns_rr"),
        data!("three_instances_rr"),
    ] {
        for end in 0..=text.len() {
            parse(&words("netperf -v 0 -P 0 -B x"), &text[..end], &text[end..]);
        }
    }
    for text in ["é\u{1b}\u{0}\n\"é,\n=\n THROUGHPUT=\n1 é\n", "Throughput\n\u{2003}é\n", "Throughput,Direction\n,\n"]
    {
        parse(&words("netperf"), text, text);
    }
}
