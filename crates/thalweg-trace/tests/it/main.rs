//! Integration tests of the readers, in one program.

mod pcap;
mod qlog;
mod writers;
