//! The progress bar: on standard error, only where that is a terminal.

use std::io::IsTerminal;
use std::time::Duration;

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressState, ProgressStyle};

/// Frames scored, speed and time left, or nothing at all. Clones are the same bar.
#[derive(Clone)]
pub(crate) struct Progress(ProgressBar);

impl Progress {
    /// A bar for `frames` frames, if their number is known. Invisible when `quiet` or when
    /// standard error is not a terminal.
    pub(crate) fn new(frames: Option<u64>, quiet: bool) -> Self {
        if quiet || !std::io::stderr().is_terminal() {
            return Progress(ProgressBar::hidden());
        }
        let template = match frames {
            Some(_) => "{bar:32.green} {pos}/{len} frames  {fps} fps  {eta} left",
            None => "{spinner} {pos} frames  {fps} fps",
        };
        let speed = |state: &ProgressState, text: &mut dyn std::fmt::Write| {
            let _ = write!(text, "{:.2}", state.per_sec());
        };
        let style = ProgressStyle::with_template(template).expect("the template is well formed");
        let bar = ProgressBar::with_draw_target(frames, ProgressDrawTarget::stderr());
        bar.set_style(style.with_key("fps", speed).progress_chars("━╸─"));
        bar.enable_steady_tick(Duration::from_millis(100));
        Progress(bar)
    }

    /// Tells that all frames before `frame` have been scored.
    pub(crate) fn scored(&self, frame: u64) {
        self.0.set_position(frame);
    }

    /// Removes the bar from the terminal.
    pub(crate) fn end(&self) {
        self.0.finish_and_clear();
    }
}
