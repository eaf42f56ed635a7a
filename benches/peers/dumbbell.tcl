# Dumbbell of greedy TCP flows in ns-2.
#
#   ns dumbbell.tcl [-name value]...
#
# Each flow has its own source host and its own sink host.
#
#   src_i --access-- R1 ==bottleneck== R2 --access-- dst_i
#
# Prints one line of JSON (a cubic run prints more lines before it). Two runs
# give the same result: the only draws, the phase of each sender's clock, come
# from the default stream, which has a fixed seed.
#
# rate, access in bit/s; delay, adelay, duration, warmup (goodput is counted
# after it) and stagger (between two starts) in s; buffer, window, iw in packets.

array set opt {
    scenario custom  flows 10    rate 100e6   delay 0.010  buffer 625
    access 1e9       adelay 0.001 duration 60  cc sack      payload 1000
    window 100000    iw 10        stagger 0   warmup 0
}
foreach {name value} $argv {
    set name [string range $name 1 end]
    if {![info exists opt($name)]} { puts stderr "unknown option -$name"; exit 2 }
    set opt($name) $value
}

# Headers on the wire (IP 20 + TCP 20). ns-2 adds them to packetSize_, except in
# Agent/TCP/Vegas, where packetSize_ is the size on the wire.
set header 40
set packet_size [expr {$opt(cc) == "vegas" ? $opt(payload) + $header : $opt(payload)}]

proc new_sender {cc} {
    switch $cc {
        sack    { return [list [new Agent/TCP/Sack1] [new Agent/TCPSink/Sack1]] }
        newreno { return [list [new Agent/TCP/Newreno] [new Agent/TCPSink]] }
        vegas   { return [list [new Agent/TCP/Vegas] [new Agent/TCPSink]] }
        cubic   { return [list [new Agent/TCP/Linux] [new Agent/TCPSink/Sack1]] }
    }
    puts stderr "unknown cc $cc"
    exit 2
}

# Carry only the headers in use: by default a packet of ns-2 holds the headers
# of every protocol that was compiled in, which makes the run slower.
remove-all-packet-headers
add-packet-header IP TCP Flags

set ns [new Simulator]
# Static routes would cost a square (or more) of the number of hosts.
$ns rtproto Manual

set r1 [$ns node]
set r2 [$ns node]
$ns duplex-link $r1 $r2 $opt(rate) $opt(delay) DropTail
$ns queue-limit $r1 $r2 $opt(buffer)
$ns queue-limit $r2 $r1 1000000
[$r1 get-module Manual] add-route-to-adj-node -default $r2
[$r2 get-module Manual] add-route-to-adj-node -default $r1

for {set i 0} {$i < $opt(flows)} {incr i} {
    set src [$ns node]
    set dst [$ns node]
    foreach {host router} [list $src $r1 $dst $r2] {
        $ns duplex-link $host $router $opt(access) $opt(adelay) DropTail
        $ns queue-limit $host $router 1000000
        $ns queue-limit $router $host 1000000
        [$host get-module Manual] add-route-to-adj-node -default $router
        [$router get-module Manual] add-route-to-adj-node $host
    }
    foreach {tcp sink} [new_sender $opt(cc)] break
    $tcp set packetSize_ $packet_size
    # The initial ssthresh is the window: a flow leaves slow start by a loss.
    $tcp set window_ $opt(window)
    $tcp set windowInit_ $opt(iw)
    $tcp set fid_ $i
    $ns attach-agent $src $tcp
    $ns attach-agent $dst $sink
    $ns connect $tcp $sink
    if {$opt(cc) == "cubic"} { $ns at 0 "$tcp select_ca cubic" }
    set ftp [new Application/FTP]
    $ftp attach-agent $tcp
    $ns at [expr {$i * $opt(stagger)}] "$ftp start"
    set tcps($i) $tcp
}

set monitor [$ns monitor-queue $r1 $r2 ""]

proc acked {i} {
    global tcps
    # ack_ is the number of the last packet acknowledged in sequence, from 0.
    return [expr {[$tcps($i) set ack_] < 0 ? 0 : [$tcps($i) set ack_]}]
}

proc mark {} {
    global opt base
    for {set i 0} {$i < $opt(flows)} {incr i} { set base($i) [acked $i] }
}

# User and system time of this process so far, in s (ticks of 10 ms).
proc cpu_s {} {
    set f [open /proc/self/stat]
    set fields [split [read $f]]
    close $f
    return [expr {([lindex $fields 13] + [lindex $fields 14]) / 100.0}]
}

proc max_rss_kb {} {
    set f [open /proc/self/status]
    set text [read $f]
    close $f
    regexp {VmHWM:\s+(\d+)} $text -> kb
    return $kb
}

# Every data packet and every acknowledgement crosses three links. The first
# link of data is counted at the senders, the bottleneck by its monitor, the
# third link and the three links of the acknowledgements by the
# acknowledgements received (each answers one delivered packet). What is in
# flight at the end is therefore missing: at most one pipe and buffer.
proc finish {} {
    global opt base tcps monitor header setup_cpu
    set sum 0.0; set squares 0.0; set sent 0.0; set acks 0.0; set rexmit 0; set rates {}
    for {set i 0} {$i < $opt(flows)} {incr i} {
        set n [expr {[acked $i] - $base($i)}]
        set sum [expr {$sum + $n}]
        set squares [expr {$squares + double($n) * $n}]
        set sent [expr {$sent + [$tcps($i) set ndatapack_]}]
        set acks [expr {$acks + [$tcps($i) set nackpack_]}]
        incr rexmit [$tcps($i) set nrexmitpack_]
    }
    set seconds [expr {$opt(duration) - $opt(warmup)}]
    set scale [expr {8.0 / $seconds / 1e6}]
    set jain [expr {$squares > 0 ? $sum * $sum / ($opt(flows) * $squares) : 0}]
    set hops [expr {$sent + [$monitor set pdepartures_] + 4 * $acks}]
    puts [format {{"peer":"ns-2","scenario":"%s","cc":"%s","flows":%d,"duration_s":%g,"goodput_mbps":%.4f,"acked_wire_mbps":%.4f,"jain":%.5f,"drops":%d,"retransmits":%d,"packet_hops":%.0f,"setup_cpu_s":%.2f,"max_rss_kb":%d}} \
        $opt(scenario) $opt(cc) $opt(flows) $opt(duration) \
        [expr {$sum * $opt(payload) * $scale}] \
        [expr {$sum * ($opt(payload) + $header) * $scale}] \
        $jain [expr {int([$monitor set pdrops_])}] $rexmit $hops $setup_cpu [max_rss_kb]]
    exit 0
}

$ns at $opt(warmup) mark
$ns at $opt(duration) finish
set setup_cpu [cpu_s]
$ns run
