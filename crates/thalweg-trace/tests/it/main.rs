//! Integration tests of the readers, in one program.

mod external_traces;
mod known_path;
mod pcap;
mod qlog;
