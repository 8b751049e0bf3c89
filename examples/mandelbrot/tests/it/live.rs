// SPDX-License-Identifier: MIT OR Apache-2.0
//! The program with `--live`, while a copy of its source is edited.

use std::fs::File;
use std::io::{BufRead as _, BufReader, Read};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::time::Duration;

/// The line of the kernel that chooses colours.
const COLOURS: &str = "turn == turns ? 0 : 1 + turn % 255";
/// Much longer than a compile and a picture take.
const LIMIT: Duration = Duration::from_secs(240);

/// The running program, which ends with the test.
struct Live {
    child: Child,
    lines: Receiver<String>,
}

impl Live {
    fn start(picture: &Path, source: &Path) -> Self {
        let mut child = Command::new(env!("CARGO_BIN_EXE_mandelbrot"))
            .arg("--live")
            .args([picture, source])
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let (sender, lines) = channel();
        forward(child.stdout.take().unwrap(), sender.clone());
        forward(child.stderr.take().unwrap(), sender);
        Self { child, lines }
    }

    /// Waits for a line with this text, and returns all lines up to it.
    #[track_caller]
    fn wait_for(&self, text: &str) -> String {
        let said = self.lines_until(text);
        said.unwrap_or_else(|said| panic!("no line with `{text}` came, but: {said}"))
    }

    /// Returns the lines up to one with this text, or all lines if the program ended without it.
    fn lines_until(&self, text: &str) -> Result<String, String> {
        let mut all = String::new();
        while let Ok(line) = self.lines.recv_timeout(LIMIT) {
            all.push_str(&line);
            all.push('\n');
            if line.contains(text) {
                return Ok(all);
            }
        }
        Err(all)
    }
}

impl Drop for Live {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn forward(output: impl Read + Send + 'static, to: Sender<String>) {
    std::thread::spawn(move || {
        for line in BufReader::new(output).lines().map_while(Result::ok) {
            if to.send(line).is_err() {
                return;
            }
        }
    });
}

/// The pixels of a picture, which are indices into its palette.
fn pixels(path: &Path) -> Vec<u8> {
    let mut reader = png::Decoder::new(BufReader::new(File::open(path).unwrap()))
        .read_info()
        .unwrap();
    let mut pixels = vec![0; reader.output_buffer_size().unwrap()];
    reader.next_frame(&mut pixels).unwrap();
    pixels
}

#[test]
fn saved_kernels_draw_and_mistakes_are_named() {
    let package = Path::new(env!("CARGO_MANIFEST_DIR"));
    let text = std::fs::read_to_string(package.join("kernels/mandelbrot.cpp")).unwrap();
    assert!(text.contains(COLOURS));
    let directory = tempfile::tempdir().unwrap();
    let source = directory.path().join("live.cpp");
    let picture = directory.path().join("live.png");
    let save = |text: &str| {
        // In one step, as editors do.
        let beside = source.with_extension("new");
        std::fs::write(&beside, text).unwrap();
        std::fs::rename(beside, &source).unwrap();
    };
    save(&text);
    let live = Live::start(&picture, &source);
    if let Err(said) = live.lines_until("device    ") {
        println!("skipped, because the program ended: {said}");
        assert!(
            std::env::var_os("SYCLBIN_REQUIRE_DEVICE").is_none(),
            "{said}"
        );
        return;
    }
    let said = live.wait_for("picture   ");
    assert!(!said.contains("after the source was saved"), "{said}");
    let first = pixels(&picture);
    assert_eq!(first, pixels(&package.join("mandelbrot.png")));

    save(&text.replace(COLOURS, "turn == turns ? 0 : 255 - turn % 255"));
    live.wait_for("after the source was saved");
    let inverted: Vec<u8> = first.iter().map(|pixel| 0u8.wrapping_sub(*pixel)).collect();
    assert_eq!(pixels(&picture), inverted);

    save(&text.replace(COLOURS, "turn == turns ? 0 ::: 1"));
    let said = live.wait_for("the last picture stays");
    assert!(
        said.contains("live.cpp:29:") && said.contains(" error: "),
        "{said}"
    );
    assert!(!said.contains("picture   "), "{said}");

    save(&text.replace(
        "unsigned turns, unsigned char *pixels",
        "int turns, unsigned char *pixels",
    ));
    let said = live.wait_for("the last picture stays");
    let difference = "kernel mandelbrot: parameter 3 `turns`: expected `unsigned int`, found `int`";
    assert!(said.contains(difference), "{said}");
    assert_eq!(pixels(&picture), inverted);

    save(&text);
    live.wait_for("after the source was saved");
    assert_eq!(pixels(&picture), first);
}
