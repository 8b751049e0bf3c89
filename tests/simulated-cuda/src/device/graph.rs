// SPDX-License-Identifier: MIT OR Apache-2.0
//! Graphs: work and what it waits for, and such that can be launched.

use std::sync::{Mutex, MutexGuard, PoisonError};

use super::work::Work;
use crate::call::{Code, Outcome};

/// Work in a graph.
#[derive(Clone)]
pub(crate) struct Node {
    pub(crate) handle: u64,
    pub(crate) work: Work,
    pub(crate) after: Vec<u64>,
}

/// What is put together.
#[derive(Clone, Default)]
pub(crate) struct Graph {
    pub(crate) nodes: Vec<Node>,
}

impl Graph {
    /// Adds a node; what it waits for has to be there already, so there is never a circle.
    pub(crate) fn add(&mut self, node: Node) -> Outcome<()> {
        let known = |handle: &u64| self.nodes.iter().any(|node| node.handle == *handle);
        if !node.after.iter().all(known) {
            return Err(Code::CUDA_ERROR_INVALID_VALUE);
        }
        self.nodes.push(node);
        Ok(())
    }

    pub(crate) fn node(&mut self, handle: u64) -> Outcome<&mut Node> {
        let found = self.nodes.iter_mut().find(|node| node.handle == handle);
        found.ok_or(Code::CUDA_ERROR_INVALID_HANDLE)
    }
}

/// A graph behind a handle: one that is put together, or one that can be launched.
pub(crate) struct Held<const EXECUTABLE: bool> {
    graph: Mutex<Graph>,
}

/// A graph that is put together.
pub(crate) type Template = Held<false>;
/// A graph that can be launched: a copy of what was there when it was made.
pub(crate) type Executable = Held<true>;

impl<const EXECUTABLE: bool> Held<EXECUTABLE> {
    pub(crate) fn new(graph: Graph) -> Self {
        Self {
            graph: Mutex::new(graph),
        }
    }

    pub(crate) fn graph(&self) -> MutexGuard<'_, Graph> {
        self.graph.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
