// SPDX-License-Identifier: MIT OR Apache-2.0
//! Captures: streams whose work becomes a graph.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::graph::{Graph, Node};
use super::table;
use super::work::Work;
use crate::call::{Code, Outcome};

/// What the streams of a capture have in common.
#[derive(Default)]
struct State {
    graph: Graph,
    /// Whether a call that cannot be captured ended it: all that is left to do is to end it.
    invalid: bool,
}

/// What a stream has captured.
pub(crate) struct Capture {
    state: Arc<Mutex<State>>,
    /// Whether it began here, and so has to end here.
    pub(crate) origin: bool,
    /// The nodes that the next one waits for.
    last: Vec<u64>,
}

impl Capture {
    pub(crate) fn begin() -> Self {
        Self {
            state: Arc::default(),
            origin: true,
            last: Vec::new(),
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn check(&self) -> Outcome<()> {
        if self.state().invalid {
            return Err(Code::CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
        }
        Ok(())
    }

    /// The error of a call that cannot be captured. It invalidates the capture.
    pub(crate) fn refuse(&self, code: Code) -> Code {
        if std::mem::replace(&mut self.state().invalid, true) {
            Code::CUDA_ERROR_STREAM_CAPTURE_INVALIDATED
        } else {
            code
        }
    }

    /// The same capture in another stream, behind what is in this one.
    pub(crate) fn follow(&self) -> Self {
        Self {
            state: Arc::clone(&self.state),
            origin: false,
            last: self.last.clone(),
        }
    }

    /// Waits for another stream of the same capture.
    pub(crate) fn join(&mut self, other: &Self) -> Outcome<()> {
        self.check()?;
        if !self.is_of(other) {
            return Err(Code::CUDA_ERROR_STREAM_CAPTURE_MERGE);
        }
        self.last.extend(&other.last);
        self.last.sort_unstable();
        self.last.dedup();
        Ok(())
    }

    /// Adds a node behind all before it.
    pub(crate) fn add(&mut self, work: Work) -> Outcome<()> {
        self.check()?;
        let handle = table::reserve();
        let node = Node {
            handle,
            work,
            after: std::mem::replace(&mut self.last, vec![handle]),
        };
        self.state().graph.nodes.push(node);
        Ok(())
    }

    pub(crate) fn is_of(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.state, &other.state)
    }

    /// The graph. It is an error if the capture is invalid, or if a node is left that this stream does not wait for.
    pub(crate) fn end(self) -> Outcome<Graph> {
        self.check()?;
        let graph = std::mem::take(&mut self.state().graph);
        let mut reached = self.last.clone();
        let mut at = 0;
        while let Some(handle) = reached.get(at).copied() {
            at += 1;
            let node = graph.nodes.iter().find(|node| node.handle == handle);
            for before in node.map_or(&[][..], |node| &node.after) {
                if !reached.contains(before) {
                    reached.push(*before);
                }
            }
        }
        if reached.len() < graph.nodes.len() {
            return Err(Code::CUDA_ERROR_STREAM_CAPTURE_UNJOINED);
        }
        Ok(graph)
    }
}
