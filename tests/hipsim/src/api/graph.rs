//! Capture and graphs.

use std::ffi::{c_char, c_uint, c_void};
use std::sync::Arc;

use crate::abi::{Answer, Code, Handle};
use crate::api::{Out, hip};
use crate::capture::{self, Graph};
use crate::sim::{current_device, lock, sim};
use crate::stream::Item;
use crate::streams;

hip! {
    Usable fn hipStreamBeginCapture(stream: Handle, mode: u32) {
        capture::begin(&streams::find(stream)?, mode)
    }
    // A device that is lost ends what it records, too.
    Failed fn hipStreamEndCapture(stream: Handle, graph: Out<Handle>) {
        graph.check()?;
        let made = capture::end(&streams::find(stream)?);
        match made {
            Ok(_) if sim().failure().is_some() => graph.set(std::ptr::null_mut()),
            Ok(made) => graph.set(sim().graphs.add(Arc::new(made))),
            Err(code) => {
                graph.set(std::ptr::null_mut())?;
                Err(code)
            }
        }
    }
    Usable fn hipStreamIsCapturing(stream: Handle, status: Out<u32>) {
        status.set(status_of(stream)?.0)
    }
    Usable fn hipStreamGetCaptureInfo(stream: Handle, status: Out<u32>, id: *mut u64) {
        let (now, capture) = status_of(stream)?;
        if !id.is_null() {
            Out(id).set(capture)?;
        }
        status.set(now)
    }
    Usable fn hipGraphCreate(graph: Out<Handle>, _flags: c_uint) {
        graph.set(sim().graphs.add(Arc::new(Graph { nodes: Vec::new() })))
    }
    Failed fn hipGraphDestroy(graph: Handle) {
        sim().graphs.remove(graph).map(|_| ())
    }
    /// The nodes are counted; they have no handles here.
    Usable fn hipGraphGetNodes(graph: Handle, nodes: *mut Handle, count: Out<usize>) {
        let graph = sim().graphs.get(graph)?;
        if !nodes.is_null() {
            return Err(Code::NOT_SUPPORTED);
        }
        count.set(graph.nodes.len())
    }
    Usable fn hipGraphInstantiate(
        exec: Out<Handle>,
        graph: Handle,
        error_node: *mut c_void,
        log: *mut c_char,
        log_bytes: usize,
    ) {
        if !error_node.is_null() {
            Out(error_node.cast::<Handle>()).set(std::ptr::null_mut())?;
        }
        if !log.is_null() && log_bytes > 0 {
            Out(log).set(0)?;
        }
        instantiate(exec, graph)
    }
    Usable fn hipGraphInstantiateWithFlags(exec: Out<Handle>, graph: Handle, _flags: u64) {
        instantiate(exec, graph)
    }
    Usable fn hipGraphUpload(exec: Handle, stream: Handle) {
        sim().execs.get(exec)?;
        streams::find(stream).map(|_| ())
    }
    Usable fn hipGraphLaunch(exec: Handle, stream: Handle) {
        let (exec, stream) = (sim().execs.get(exec)?, streams::find(stream)?);
        // A graph inside a graph is not simulated.
        capture::forbid_on(&stream)?;
        streams::follow_default_stream(&stream)?;
        stream.push(Item::Graph(exec, streams::place(&stream)));
        Ok(())
    }
    /// A launch that is under way goes on to its end.
    Failed fn hipGraphExecDestroy(exec: Handle) {
        sim().execs.remove(exec).map(|_| ())
    }
}

fn instantiate(exec: Out<Handle>, graph: Handle) -> Answer {
    exec.check()?;
    let graph = sim().graphs.get(graph)?;
    exec.set(
        sim()
            .execs
            .add(Arc::new(graph.instantiate(current_device()))),
    )
}

fn status_of(stream: Handle) -> Answer<(u32, u64)> {
    let stream = streams::find(stream)?;
    let own = lock(&stream.capture);
    Ok(match &*own {
        None => (0, 0),
        Some(own) if own.capture.is_invalid() => (2, own.capture.id),
        Some(own) => (1, own.capture.id),
    })
}
