#!/usr/bin/env python3
"""Seconds, CPU seconds and memory of `thalweg view` on large traces: 100 MB of qlog, and 1 GB of packet capture, made here.

    benches/view_speed.py [--thalweg PROGRAM] [--share S] [--folder DIR]

`--share 0.1` makes traces of a tenth of the size. Captures come with whole packets and with headers only, which are twelve times as many
packets. The goal is 3 s for each to be read and summarised. The page is larger work: series, levels of detail, and their encoding.
"""

import argparse
import os
import resource
import struct
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
HEADER = 66


def write_qlog(path, size):
    """Writes the log of a sender: a packet every 0.1 ms, an acknowledgement for every second one, a loss in a thousand."""
    with open(path, "w") as file:
        head = '{"qlog_version":"0.3","qlog_format":"JSON-SEQ","title":"bench","trace":{"vantage_point":{"type":"client"},"common_fields":{"ODCID":"0102"}}}'
        file.write(f"\x1e{head}\n")
        written, number, lines = 0, 0, []
        while written < size:
            now = number * 0.1
            lines.append(
                f'\x1e{{"time":{now:.4f},"name":"transport:packet_sent","data":{{"header":{{"packet_type":"1RTT","packet_number":{number},"dcid":"9bae3025"}},'
                f'"raw":{{"length":1280,"payload_length":1273}},"frames":[{{"frame_type":"stream","stream_id":2,"offset":{number * 1251},"length":1251}}]}}}}\n'
            )
            acked = number - 400
            if acked > 0 and acked % 2 == 0:
                if acked % 1000 == 0:
                    lines.append(f'\x1e{{"time":{now:.4f},"name":"recovery:packet_lost","data":{{"header":{{"packet_type":"1RTT","packet_number":{acked - 1}}}}}}}\n')
                first = acked // 1000 * 1000
                lines.append(
                    f'\x1e{{"time":{now:.4f},"name":"transport:packet_received","data":{{"header":{{"packet_type":"1RTT","packet_number":{acked},"dcid":"cb01"}},'
                    f'"raw":{{"length":34}},"frames":[{{"frame_type":"ack","ack_delay":0.008,"acked_ranges":[[{first},{acked}]]}}]}}}}\n'
                )
                lines.append(
                    f'\x1e{{"time":{now:.4f},"name":"recovery:metrics_updated","data":{{"smoothed_rtt":{40 + acked % 97 / 10:.3f},"latest_rtt":41.5,"congestion_window":{500000 + acked % 5003},"bytes_in_flight":{512000 - acked % 4001}}}}}\n'
                )
            number += 1
            if len(lines) > 10_000:
                text = "".join(lines)
                written += file.write(text)
                lines = []


def write_pcap(path, size, stored):
    """Writes the capture of a sender over Ethernet: packets of 1514 B, of which `stored` bytes are kept, every second one acknowledged."""
    ethernet = bytes(12) + b"\x08\x00"

    def frame(is_back, length):
        ends = [b"\x0a\0\0\1", b"\x0a\0\0\2"]
        ports = [40_000, 443]
        if is_back:
            ends, ports = ends[::-1], ports[::-1]
        ip = struct.pack(">BBHHHBBH", 0x45, 0, 52 + length, 0, 0x4000, 64, 6, 0) + ends[0] + ends[1]
        tcp = struct.pack(">HHIIBBHHH", *ports, 0, 0, 0x80, 16, 60_000, 0, 0) + b"\1\1\x08\x0a" + bytes(8)
        kept = min(stored, HEADER + length)
        bytes_ = bytearray(16) + ethernet + ip + tcp + bytes(max(0, kept - HEADER))
        struct.pack_into("<II", bytes_, 8, kept, HEADER + length)
        return bytes_

    data, ack = frame(False, 1448), frame(True, 0)
    sequence, number_ack = 16 + 38, 16 + 42
    with open(path, "wb", buffering=8 << 20) as file:
        file.write(struct.pack("<IHHIIII", 0xA1B2C3D4, 2, 4, 0, 0, 65_535, 1))
        written, number = 0, 0
        pack, unsigned = struct.pack_into, 0xFFFFFFFF
        while written < size:
            micros = number * 100
            pack("<II", data, 0, 1_700_000_000 + micros // 1_000_000, micros % 1_000_000)
            pack(">I", data, sequence, number * 1448 & unsigned)
            file.write(data)
            written += len(data)
            if number % 2 and number > 400:
                pack("<II", ack, 0, 1_700_000_000 + micros // 1_000_000, micros % 1_000_000)
                pack(">I", ack, number_ack, (number - 400) * 1448 & unsigned)
                file.write(ack)
                written += len(ack)
            number += 1


def measure_command(words):
    """Runs a program; returns its seconds, its CPU seconds, and the most memory it used in MB."""
    start = time.monotonic()
    process = subprocess.Popen(words, stdout=subprocess.DEVNULL)
    _, status, usage = os.wait4(process.pid, 0)
    if status:
        sys.exit(f"failed: {' '.join(map(str, words))}")
    return time.monotonic() - start, usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--thalweg", default=str(ROOT / "target/release/thalweg"))
    parser.add_argument("--share", type=float, default=1.0)
    parser.add_argument("--folder", default=None)
    options = parser.parse_args()
    cases = [
        ("qlog, 100 MB", "large.sqlog", lambda path, share: write_qlog(path, 1e8 * share)),
        ("pcap, 1 GB, whole packets", "whole.pcap", lambda path, share: write_pcap(path, 1e9 * share, 65_535)),
        ("pcap, 1 GB, headers", "headers.pcap", lambda path, share: write_pcap(path, 1e9 * share, 96)),
    ]
    print(f"{'trace':<28}{'bytes':>14}{'read, s':>10}{'CPU, s':>8}{'MB':>8}{'page, s':>10}{'CPU, s':>8}{'MB':>8}{'page, bytes':>14}")
    with tempfile.TemporaryDirectory(dir=options.folder) as folder:
        for name, file, make in cases:
            path, page = Path(folder) / file, Path(folder) / "page.html"
            make(path, options.share)
            # The first call brings the file into memory.
            measure_command([options.thalweg, "view", path, "--json", "--quiet"])
            seconds, cpu, memory = measure_command([options.thalweg, "view", path, "--json", "--quiet"])
            page_seconds, page_cpu, page_memory = measure_command([options.thalweg, "view", path, f"--report={page}", "--quiet"])
            print(
                f"{name:<28}{path.stat().st_size:>14}{seconds:>10.2f}{cpu:>8.2f}{memory:>8.0f}{page_seconds:>10.2f}{page_cpu:>8.2f}{page_memory:>8.0f}{page.stat().st_size:>14}"
            )
            path.unlink()


if __name__ == "__main__":
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    main()
