//! Tests of whole runs over faked machines.
