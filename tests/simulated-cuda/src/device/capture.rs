// SPDX-License-Identifier: MIT OR Apache-2.0
//! Captures: streams whose work becomes a graph.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::graph::{Graph, Node};
use super::table;
use super::work::Work;
use crate::call::{Code, Outcome};

/// What a stream has captured.
pub(crate) struct Capture {
    graph: Arc<Mutex<Graph>>,
    /// Whether it began here, and so has to end here.
    pub(crate) origin: bool,
    /// The nodes that the next one waits for.
    last: Vec<u64>,
}

impl Capture {
    pub(crate) fn begin() -> Self {
        Self {
            graph: Arc::default(),
            origin: true,
            last: Vec::new(),
        }
    }

    fn graph(&self) -> MutexGuard<'_, Graph> {
        self.graph.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The same capture in another stream, behind what is in this one.
    pub(crate) fn follow(&self) -> Self {
        Self {
            graph: Arc::clone(&self.graph),
            origin: false,
            last: self.last.clone(),
        }
    }

    /// Waits for another stream of the same capture.
    pub(crate) fn join(&mut self, other: &Self) -> Outcome<()> {
        if !Arc::ptr_eq(&self.graph, &other.graph) {
            return Err(Code::CUDA_ERROR_STREAM_CAPTURE_MERGE);
        }
        self.last.extend(&other.last);
        self.last.sort_unstable();
        self.last.dedup();
        Ok(())
    }

    /// Adds a node behind all before it.
    pub(crate) fn add(&mut self, work: Work) -> Outcome<()> {
        let handle = table::reserve();
        let node = Node {
            handle,
            work,
            after: std::mem::replace(&mut self.last, vec![handle]),
        };
        self.graph().nodes.push(node);
        Ok(())
    }

    pub(crate) fn is_of(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.graph, &other.graph)
    }

    /// The graph. It is an error if a node is left that this stream does not wait for.
    pub(crate) fn end(self) -> Outcome<Graph> {
        let graph = std::mem::take(&mut *self.graph());
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
