// SPDX-License-Identifier: MIT OR Apache-2.0
use std::time::Duration;

use super::collector::{Collector, Slice, State, Track, lock};
use super::statistics::Statistics;
use super::*;

fn slice(class: Class, name: &str, bytes: usize, state: State) -> Slice {
    Slice {
        track: match class {
            Class::Program => Track::Thread(1),
            _ => Track::Queue {
                device: 0,
                queue: 1,
            },
        },
        class,
        name: name.into(),
        bytes,
        begun: 0,
        state,
    }
}

#[test]
fn table_has_total_mean_and_largest() {
    let mut statistics = Statistics::default();
    for ended in [2_000, 4_000] {
        let state = State::Ended { started: 0, ended };
        statistics.add(&slice(Class::Kernel, "saxpy", 0, state));
    }
    statistics.add(&slice(Class::Kernel, "saxpy", 0, State::Failed));
    statistics.add(&slice(
        Class::Memory,
        "copying a buffer",
        64,
        State::Untimed,
    ));
    let state = State::Ended {
        started: 1_000,
        ended: 1_500_000,
    };
    statistics.add(&slice(Class::Program, "compiling", 0, state));
    let table = statistics.to_string();
    let rows: Vec<Vec<&str>> = table
        .lines()
        .map(|line| line.split_whitespace().collect())
        .collect();
    let expected = "saxpy 3 6.0µs 3.0µs 4.0µs 0 1 without times";
    assert!(rows.contains(&expected.split(' ').collect()), "{table}");
    let expected = "copying a buffer 1 0.0ns 0.0ns 0.0ns 64 1 without times";
    assert!(rows.contains(&expected.split(' ').collect()), "{table}");
    let expected = "compiling (host) 1 1.5ms 1.5ms 1.5ms 0";
    assert!(rows.contains(&expected.split(' ').collect()), "{table}");
    assert!(!table.contains("waits"), "{table}");
}

#[test]
fn last_trace_drops_the_slices() {
    let mut collector = Collector::default();
    (collector.traces, collector.left_out) = (2, 1);
    let mut kept = || {
        collector.keep(slice(Class::Kernel, "saxpy", 0, State::Untimed));
        let kept = (collector.slices.len(), collector.left_out);
        collector.end();
        kept
    };
    assert_eq!([kept(), kept(), kept()], [(1, 1), (2, 1), (0, 0)]);
}

#[test]
fn waiting_for_a_held_lock_ends() {
    let mutex = Mutex::new(());
    let held = mutex.lock();
    assert!(lock(&mutex, Duration::ZERO).is_none());
    drop(held);
    assert!(lock(&mutex, Duration::ZERO).is_some());
}

#[test]
fn busy_lock_is_waited_for() {
    let mutex = Mutex::new(());
    let (send, held) = std::sync::mpsc::channel();
    std::thread::scope(|scope| {
        let mutex = &mutex;
        scope.spawn(move || {
            let _held = mutex.lock();
            send.send(()).unwrap();
            std::thread::sleep(Duration::from_millis(50));
        });
        held.recv().unwrap();
        assert!(lock(mutex, Duration::from_secs(20)).is_some());
    });
}

#[test]
fn surplus_slices_are_counted_and_dropped() {
    let mut collector = Collector {
        traces: 1,
        ..Collector::default()
    };
    let slice = || slice(Class::Kernel, "", 0, State::Untimed);
    let most = 1 << 20;
    collector.slices.resize_with(most - 1, slice);
    for left_out in [0, 1, 2] {
        collector.keep(slice());
        let kept = (collector.slices.len(), collector.left_out);
        assert_eq!(kept, (most, left_out));
    }
    let text = timeline::json(&collector, u64::MAX);
    assert!(text.contains("\"left_out\":2"), "{text}");
}

#[test]
fn table_keeps_commands_after_the_last_trace() -> Result<()> {
    let Some(queue) = crate::common::queue() else {
        return Ok(());
    };
    let event = queue.barrier(&[])?;
    for (prints, kept) in [(true, 1), (false, 0)] {
        let mut collector = Collector {
            traces: 1,
            prints,
            ..Collector::default()
        };
        let slice = slice(Class::Wait, "waiting at a barrier", 0, State::Unfinished);
        collector.command(slice, &event.raw);
        assert_eq!(collector.pending.len(), 1);
        collector.end();
        assert_eq!(collector.pending.len(), kept);
    }
    event.wait()
}

#[test]
fn timeline_begins_with_its_trace() {
    let mut collector = Collector::default();
    for begun in [4, 5, 6] {
        let state = State::Ended {
            started: begun,
            ended: 9,
        };
        let slice = slice(Class::Program, "compiling", 0, state);
        collector.slices.push(Slice { begun, ..slice });
    }
    let text = timeline::json(&collector, 5);
    assert_eq!(text.matches("\"compiling\"").count(), 2, "{text}");
    // The track that they share has one name.
    assert_eq!(text.matches("\"thread 1\"").count(), 1, "{text}");
}

#[test]
fn name_in_timeline_may_contain_any_character() {
    let name = "a \"quoted\"\\ name\n\t\u{1f} ~";
    let mut collector = Collector::default();
    let slice = slice(Class::Program, name, 0, State::Untimed);
    collector.slices.push(slice);
    let text = timeline::json(&collector, 0);
    let trace: serde_json::Value = serde_json::from_str(&text).unwrap();
    let events = trace["traceEvents"].as_array().unwrap();
    assert!(events.iter().any(|event| event["name"] == name), "{text}");
}

#[test]
fn call_has_its_last_name_and_duration() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("trace.json");
    let trace = start(&path);
    let (first, last) = ("a call of this test", "a call that ended");
    let mut call = span(Class::Program, first, 0);
    std::thread::sleep(Duration::from_millis(2));
    call.rename(last);
    drop(call);
    trace.finish().unwrap();
    let text = std::fs::read_to_string(&path).unwrap();
    let trace: serde_json::Value = serde_json::from_str(&text).unwrap();
    let events = trace["traceEvents"].as_array().unwrap();
    let named = |name| events.iter().find(|event| event["name"] == name);
    assert!(named(first).is_none(), "{text}");
    let duration = named(last).unwrap()["dur"].as_f64();
    // A thread never sleeps for less time than it asked for.
    assert!(duration.is_some_and(|us| us >= 2000.0), "{text}");
}

/// Set for the child: whether it must record.
const CHILD: &str = "TEST_RECORDS";

#[test]
fn either_variable_starts_recording() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("trace.json");
    let path = path.to_str().unwrap();
    for (file, table, records) in [
        ("", "", false),
        ("", "0", false),
        ("", "1", true),
        (path, "", true),
        (path, "0", true),
    ] {
        // In a child process, because other tests record at the same time.
        let output = crate::common::child(module_path!(), "a_child_records_if_requested")
            .env(CHILD, records.to_string())
            .env(FILE_VARIABLE, file)
            .env(TABLE_VARIABLE, table)
            .output()
            .unwrap();
        let printed = String::from_utf8_lossy(&output.stdout);
        let passed = output.status.success() && printed.contains("1 passed");
        assert!(passed, "{file:?}, {table:?}: {output:?}");
    }
}

#[test]
fn a_child_records_if_requested() {
    let Ok(records) = std::env::var(CHILD) else {
        return; // only the child process runs the test
    };
    apply_settings();
    assert_eq!(needs_times().to_string(), records);
    assert_eq!(is_on().to_string(), records);
}

#[test]
fn each_thread_keeps_its_own_number() {
    let number = || {
        let number = thread_number();
        assert_eq!(thread_number(), number);
        number
    };
    let other = std::thread::spawn(number).join().unwrap();
    assert_ne!(number(), other);
}

#[test]
fn dropped_trace_is_written() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("trace.json");
    drop(start(&path));
    let text = std::fs::read_to_string(&path).unwrap();
    let trace: serde_json::Value = serde_json::from_str(&text).unwrap();
    assert!(trace["traceEvents"].is_array(), "{text}");
}

#[test]
fn process_number_replaces_its_placeholder() {
    assert_eq!(with_process("a-%p.json", 7), PathBuf::from("a-7.json"));
    assert_eq!(with_process("a.json", 7), PathBuf::from("a.json"));
}

#[cfg(unix)]
#[test]
fn only_regular_files_are_replaced() {
    use std::os::unix::fs::{FileTypeExt as _, symlink};

    let directory = tempfile::tempdir().unwrap();
    let [fifo, file, link] = ["fifo", "file", "link"].map(|name| directory.path().join(name));
    let made = std::process::Command::new("mkfifo").arg(&fifo).status();
    if let Err(error) = made {
        assert_eq!(error.kind(), std::io::ErrorKind::NotFound);
        return crate::common::say_skipped("the program mkfifo is missing");
    }
    assert!(made.unwrap().success());
    let other_end = fifo.clone();
    let reader = std::thread::spawn(move || std::fs::read(other_end).unwrap());
    write_whole(&fifo, b"trace").unwrap();
    assert!(fifo.metadata().unwrap().file_type().is_fifo());
    assert_eq!(reader.join().unwrap(), b"trace");

    std::fs::write(&file, "a longer file").unwrap();
    symlink(&file, &link).unwrap();
    write_whole(&link, b"trace").unwrap();
    assert!(link.is_symlink());
    assert_eq!(std::fs::read(&file).unwrap(), b"trace");
    assert_eq!(std::fs::read_dir(directory.path()).unwrap().count(), 3);
}

#[test]
fn unwritable_trace_is_an_error() {
    let directory = std::env::temp_dir().join("a directory that does not exist");
    let path = directory.join("trace.json");
    let error = start(&path).finish().unwrap_err().to_string();
    let expected = format!("cannot write the trace {}: ", path.display());
    assert!(error.starts_with(&expected), "{error}");
}

#[test]
fn relative_path_is_resolved_at_the_start() {
    let path = "a directory that does not exist/trace.json";
    let trace = start(path);
    assert_eq!(trace.path, std::env::current_dir().unwrap().join(path));
    assert!(trace.finish().is_err());
}

#[test]
fn end_of_a_trace_leaves_commands_to_others() -> Result<()> {
    let folder = tempfile::tempdir().unwrap();
    let paths = ["first", "second"].map(|name| folder.path().join(name));
    let [first, second] = paths.each_ref().map(start);
    let Some(queue) = crate::common::queue() else {
        return Ok(());
    };
    let Some((user, raw)) = backend::queue::pending_event(queue.raw()) else {
        crate::common::say_skipped("user events");
        return Ok(());
    };
    let event = crate::Event::of_action(&queue, "being a test", raw);
    // No other test fills as many bytes.
    let mut bytes = queue.zeroed::<u8>(12_344)?;
    let filled = queue.after(&[&event]).fill(&mut bytes, 1)?;
    let finished = first.finish();
    user.end(0);
    finished?;
    filled.wait()?;
    second.finish()?;
    let fill = |path: &PathBuf| {
        let text = std::fs::read_to_string(path).unwrap();
        let mut lines = text.lines();
        let line =
            lines.find(|line| line.contains("\"bytes\":12344") && !line.contains("\"pid\":0"));
        line.unwrap_or_default().to_owned()
    };
    let [first, second] = paths.each_ref().map(fill);
    assert!(first.contains("had not finished"), "{first}");
    assert!(second.contains("\"dur\""), "{second}");
    Ok(())
}

/// Replays a recording when a command is enqueued.
#[cfg(feature = "tracing")]
struct Replayer(std::sync::Arc<crate::Recording>);

#[cfg(feature = "tracing")]
impl ::tracing::Subscriber for Replayer {
    fn enabled(&self, metadata: &::tracing::Metadata<'_>) -> bool {
        metadata.target() == TARGET
    }

    fn new_span(&self, _: &::tracing::span::Attributes<'_>) -> ::tracing::span::Id {
        ::tracing::span::Id::from_u64(1)
    }

    fn record(&self, _: &::tracing::span::Id, _: &::tracing::span::Record<'_>) {}

    fn record_follows_from(&self, _: &::tracing::span::Id, _: &::tracing::span::Id) {}

    fn event(&self, _: &::tracing::Event<'_>) {
        self.0.replay().unwrap(); // reports no event of its own
    }

    fn enter(&self, _: &::tracing::span::Id) {}

    fn exit(&self, _: &::tracing::span::Id) {}
}

#[cfg(feature = "tracing")]
#[test]
fn subscriber_may_replay_the_same_recording() -> crate::Result<()> {
    let Some(queue) = crate::common::queue() else {
        return Ok(());
    };
    let mut buffer = queue.zeroed::<u32>(4)?;
    let mut recorder = queue.record();
    recorder.fill(&mut buffer, 7)?;
    let recording = std::sync::Arc::new(recorder.finish()?);
    let (send, ended) = std::sync::mpsc::channel();
    std::thread::spawn(move || {
        let subscriber = Replayer(recording.clone());
        let replayed = ::tracing::subscriber::with_default(subscriber, || recording.replay());
        let _ = send.send(replayed.map(drop));
    });
    let ended = ended.recv_timeout(Duration::from_secs(20));
    ended.expect("the replay ends")
}

/// Stores the names and levels of new spans.
#[cfg(feature = "tracing")]
#[derive(Default)]
struct Spans(Mutex<Vec<(&'static str, ::tracing::Level)>>);

#[cfg(feature = "tracing")]
impl ::tracing::Subscriber for &'static Spans {
    fn enabled(&self, metadata: &::tracing::Metadata<'_>) -> bool {
        metadata.target() == TARGET
    }

    fn new_span(&self, span: &::tracing::span::Attributes<'_>) -> ::tracing::span::Id {
        let metadata = span.metadata();
        let mut spans = self.0.lock().unwrap();
        spans.push((metadata.name(), *metadata.level()));
        ::tracing::span::Id::from_u64(1)
    }

    fn record(&self, _: &::tracing::span::Id, _: &::tracing::span::Record<'_>) {}

    fn record_follows_from(&self, _: &::tracing::span::Id, _: &::tracing::span::Id) {}

    fn event(&self, _: &::tracing::Event<'_>) {}

    fn enter(&self, _: &::tracing::span::Id) {}

    fn exit(&self, _: &::tracing::span::Id) {}
}

#[cfg(feature = "tracing")]
#[test]
fn only_programs_have_the_level_debug() {
    use ::tracing::Level;
    let spans: &'static Spans = Box::leak(Box::default());
    ::tracing::subscriber::with_default(spans, || {
        for class in [Class::Program, Class::Memory, Class::Wait] {
            drop(span(class, "being a test", 0));
        }
    });
    let (program, call) = (("program", Level::DEBUG), ("call", Level::TRACE));
    assert_eq!(*spans.0.lock().unwrap(), [program, call, call]);
}
