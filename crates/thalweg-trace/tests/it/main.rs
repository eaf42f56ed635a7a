//! Integration tests of the readers, in one program.

mod folder;
mod pcap;
mod qlog;
mod writers;
