//! Every vendor call of a scenario fails once, by name and thread, for the first, second, ... time,
//! until a run passes untouched: no crash, no hang, nothing left alive, and each time an error on
//! the bus or a fall-back that [`FALL_BACKS`] lists.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::mpsc;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use crate::common::vendor;
use crate::cycles::expect_nothing_left;
use crate::process::{Folder, Part};
use crate::scenario::{APPLICATION, End, play};
use crate::sim::Sim;

/// What one run may take before it counts as hanging.
const LIMIT: Duration = Duration::from_secs(5);
/// Tells a child its call: function and thread.
const CALL: &str = "HIP_STRAIN_CALL";
/// How often the first fault may meet no call, as threads take turns at some of them.
const TRIES: u64 = 20;

/// Calls whose failure a stream may survive, and what is done then. Whatever else fails is an error
/// on the bus.
const FALL_BACKS: [(&[&str], &str); 11] = [
    (
        &[
            "cuMemAlloc_v2",
            "cuMemHostAlloc",
            "hipMalloc",
            "hipHostMalloc",
        ],
        "asked once more when what is being freed is free",
    ),
    (
        &[
            "cuMemFree_v2",
            "cuMemFreeHost",
            "cuStreamDestroy_v2",
            "cuEventDestroy_v2",
            "cuModuleUnload",
            "cuDevicePrimaryCtxRelease_v2",
            "hipFree",
            "hipHostFree",
            "hipStreamDestroy",
            "hipEventDestroy",
            "hipModuleUnload",
        ],
        "a warning in the log: there is nothing left to be done",
    ),
    (
        &[
            "cuCtxPushCurrent_v2",
            "hipGetDevice",
            "hipSetDevice",
            "cuDeviceGet",
            "hipDeviceGet",
        ],
        "asked once more where something is given back; elsewhere as the call that it was for",
    ),
    (
        &["cuCtxGetCurrent"],
        "taken as another context: the right one is pushed",
    ),
    (
        &["cuCtxPopCurrent_v2"],
        "a warning in the log: the thread's former context is not restored",
    ),
    (
        &[
            "cuEventCreate",
            "cuEventRecord",
            "hipEventCreateWithFlags",
            "hipEventRecord",
        ],
        "where memory or a module is let go: the stream is waited for, or the freeing waits",
    ),
    (
        &["cuStreamCreateWithPriority", "hipStreamCreateWithPriority"],
        "where memory is let go that nobody used: it is freed at once",
    ),
    (
        &[
            "cuEventQuery",
            "hipEventQuery",
            "cuStreamQuery",
            "hipStreamQuery",
        ],
        "taken as not done, and waited for",
    ),
    (
        &["cuCtxSynchronize", "hipDeviceSynchronize"],
        "asked once more before a module is unloaded",
    ),
    (
        &["cuEventSynchronize", "hipEventSynchronize"],
        "the completion worker frees, which waits; GStreamer copies what cannot be mapped",
    ),
    (
        &[
            "cuDriverGetVersion",
            "hipDriverGetVersion",
            "hipRuntimeGetVersion",
            "cuDeviceGetPCIBusId",
            "cuDeviceGetUuid_v2",
            "hipDeviceGetPCIBusId",
            "hipDeviceGetUuid",
            "cuDeviceGetAttribute",
            "hipDeviceGetAttribute",
        ],
        "not known, if it is a limit that can be assumed: the device is used without",
    ),
];

/// What is done when a call fails and the stream goes on.
fn fall_back(name: &str) -> Option<&'static str> {
    let of = |(names, text): &(&[&str], &'static str)| names.contains(&name).then_some(*text);
    FALL_BACKS.iter().find_map(of)
}

/// A call by function and thread.
type Call = (String, String);

/// Plays the scenario on a thread of its own; ends the process if it hangs.
fn play_in_time(what: &str) -> End {
    let (done, is_done) = mpsc::channel();
    let application = std::thread::Builder::new().name(APPLICATION.into());
    let thread = application
        .spawn(move || done.send(play()))
        .expect("a thread");
    let end = match is_done.recv_timeout(LIMIT) {
        Err(mpsc::RecvTimeoutError::Timeout) => {
            println!("hang\t{what}");
            std::process::exit(3)
        }
        Err(mpsc::RecvTimeoutError::Disconnected) => End::Wrong("a panic".into()),
        Ok(end) => end,
    };
    let _ = thread.join();
    end
}

/// What is wrong after a run, if anything is.
fn judge(sim: &Sim, end: End) -> End {
    if matches!(end, End::Wrong(_)) {
        return end;
    }
    if sim.races() > 0 {
        return End::Wrong(sim.last_finding());
    }
    match expect_nothing_left(sim) {
        Ok(()) => end,
        Err(left) => End::Wrong(format!("{left}, after {end:?}")),
    }
}

fn print(call: &str, n: u64, end: &End) {
    let (kind, text) = match end {
        End::Whole => ("whole", ""),
        End::Error(text) => ("error", &text[..]),
        End::Wrong(text) => ("wrong", &text[..]),
    };
    println!(
        "outcome\t{call}\t{n}\t{kind}\t{}",
        text.replace(['\n', '\t'], " ")
    );
}

/// In a child: the calls of two runs without faults go to the log.
fn count() {
    for run in 1..=2 {
        assert_eq!(play_in_time("no fault"), End::Whole);
        let Some(sim) = Sim::loaded() else {
            return println!("skipped: {} is served by no stand-in library", vendor());
        };
        expect_nothing_left(&sim).unwrap();
        println!("run {run} ends at {}", sim.total());
    }
}

/// In a child: faults by `hipSimFail`, one run after another, of a library that is in use.
fn later_runs() {
    let call = std::env::var(CALL).expect("set for this process");
    let (name, thread) = call.split_once('\t').expect("a function and a thread");
    // Ends the harness's line.
    println!();
    assert_eq!(play_in_time("no fault"), End::Whole);
    let sim = Sim::loaded().expect("a stand-in");
    let (mut n, mut untouched) = (1, 0);
    while untouched < if n == 1 { TRIES } else { 1 } {
        let before = sim.calls_on(name, thread);
        sim.fail(&format!("{name}:{n}:{thread}"));
        let end = judge(&sim, play_in_time(&format!("{call}\t{n}")));
        sim.fail("");
        let met = sim.calls_on(name, thread) - before >= n;
        match (met, &end) {
            (true, _) => print(&call, n, &end),
            (false, End::Whole) => {}
            (false, _) => print(&call, n, &End::Wrong(format!("without a fault: {end:?}"))),
        }
        if matches!(end, End::Wrong(_)) {
            // What is left alive would be found again and again.
            break;
        }
        (n, untouched) = if met { (n + 1, 0) } else { (n, untouched + 1) };
    }
    println!("all done");
}

/// In a child: a fault of the environment, in the first run.
fn first_run() {
    let fault = std::env::var("HIP_SIM_FAIL").expect("set for this process");
    // Ends the harness's line.
    println!();
    let mut parts = fault.splitn(3, ':');
    let mut part = || parts.next().expect("name:n:thread").to_owned();
    let (name, n, thread) = (part(), part().parse().expect("a number"), part());
    let call = format!("{name}\t{thread}");
    let end = play_in_time(&format!("{call}\t{n}"));
    let end = match Sim::loaded() {
        Some(sim) => judge(&sim, end),
        None => End::Wrong("no stand-in is loaded".into()),
    };
    print(&call, n, &end);
    println!("all done");
}

/// Calls of both runs, as often as they were made.
fn read_log(log: &Path, first_end: u64) -> BTreeMap<Call, [u64; 2]> {
    let text = std::fs::read_to_string(log).expect("the stand-in's log");
    let mut calls = BTreeMap::new();
    for line in text.lines() {
        let fields: Vec<&str> = line.split('\t').collect();
        if let &[number, thread, name, _] = &fields[..] {
            let number: u64 = number.parse().expect("a number");
            let counts: &mut [u64; 2] = calls.entry((name.into(), thread.into())).or_default();
            counts[usize::from(number > first_end)] += 1;
        }
    }
    calls
}

/// What came of the faults: by call, how often each way.
#[derive(Debug, Default)]
struct Results {
    tried: u64,
    by_call: BTreeMap<Call, BTreeMap<String, u64>>,
    wrong: Vec<String>,
}

impl Results {
    /// Takes in what a child printed.
    fn read(&mut self, outcome: &crate::process::Outcome, what: &str) {
        for line in outcome.text.lines() {
            let fields: Vec<&str> = line.split('\t').collect();
            let &["outcome", name, thread, n, kind, text] = &fields[..] else {
                continue;
            };
            self.tried += 1;
            let call = (name.to_owned(), thread.to_owned());
            let ways = self.by_call.entry(call).or_default();
            *ways.entry(kind.to_owned()).or_default() += 1;
            if kind == "wrong" || kind == "whole" && fall_back(name).is_none() {
                self.wrong
                    .push(format!("{name} on {thread}, call {n}: {kind}: {text}"));
            }
        }
        if !outcome.is_success() || !outcome.text.contains("all done") {
            let status = outcome.status;
            self.wrong
                .push(format!("{what}: {status:?}: {}", outcome.text));
        }
    }
}

/// Jobs of a child: a part, and its variable.
type Job = (Part, (&'static str, String));

fn jobs(calls: &BTreeMap<Call, [u64; 2]>) -> Vec<Job> {
    let part = |words| Part { test: TEST, words };
    let mut jobs = Vec::new();
    for ((name, thread), [first, second]) in calls {
        if *second > 0 {
            jobs.push((part("later runs"), (CALL, format!("{name}\t{thread}"))));
        } else {
            // Called in the first run of a process only.
            let fault = |n| format!("{name}:{n}:{thread}");
            let faults = (1..=*first).map(fault);
            jobs.extend(faults.map(|fault| (part("first run"), ("HIP_SIM_FAIL", fault))));
        }
    }
    jobs
}

/// Runs jobs on as many threads as there are processors.
fn work(jobs: Vec<Job>) -> Results {
    let results = Arc::new(Mutex::new(Results::default()));
    let jobs = Arc::new(Mutex::new(jobs));
    let workers = std::thread::available_parallelism().map_or(1, usize::from);
    let workers: Vec<_> = (0..workers)
        .map(|_| {
            let (jobs, results) = (jobs.clone(), results.clone());
            std::thread::spawn(move || {
                loop {
                    let job = jobs.lock().unwrap().pop();
                    let Some((part, (name, value))) = job else {
                        return;
                    };
                    let outcome = part.run(Duration::from_secs(200), &[(name, &value)]);
                    results.lock().unwrap().read(&outcome, &value);
                }
            })
        })
        .collect();
    for worker in workers {
        worker.join().unwrap();
    }
    Arc::into_inner(results).unwrap().into_inner().unwrap()
}

const TEST: &str = "faults::every_call_may_fail_once";

#[test]
fn every_call_may_fail_once() {
    let part = |words| Part { test: TEST, words };
    match () {
        () if part("count").is_here() => return count(),
        () if part("later runs").is_here() => return later_runs(),
        () if part("first run").is_here() => return first_run(),
        () => {}
    }
    let folder = Folder::new();
    let log = folder.file("calls");
    let path = log.to_str().expect("a path of letters");
    let outcome = part("count").run(Duration::from_secs(60), &[("HIP_SIM_LOG", path)]);
    if outcome.text.contains("skipped: ") {
        return println!("{}", outcome.text);
    }
    assert!(outcome.is_success(), "{}", outcome.text);
    let end = outcome
        .text
        .split_once("run 1 ends at ")
        .and_then(|(_, rest)| {
            let number = rest.lines().next()?;
            number.parse().ok()
        });
    let calls = read_log(&log, end.expect("the child says it"));
    let results = work(jobs(&calls));
    for ((name, thread), ways) in &results.by_call {
        let fall_back = fall_back(name).filter(|_| ways.contains_key("whole"));
        println!(
            "{name} on {thread}: {ways:?} {}",
            fall_back.unwrap_or_default()
        );
    }
    let (faults, tried) = (results.tried, results.by_call.len());
    println!("{faults} faults in {tried} calls were tried");
    assert!(results.wrong.is_empty(), "{}", results.wrong.join("\n"));
    for (name, thread) in calls
        .keys()
        .filter(|call| !results.by_call.contains_key(*call))
    {
        println!("{name} on {thread}: not called again, by chance");
    }
    // Whether a stream is asked if it is done hangs on how far the device is: not in every run.
    const BY_CHANCE: [&str; 2] = ["cuStreamQuery", "hipStreamQuery"];
    let was_tried = |name: &String| {
        let tried = results.by_call.keys().any(|(tried, _)| tried == name);
        tried || BY_CHANCE.contains(&name.as_str())
    };
    let missed: Vec<_> = calls.keys().filter(|(name, _)| !was_tried(name)).collect();
    assert!(missed.is_empty(), "never tried: {missed:?}");
    assert!(faults > 200, "{calls:?}");
}
