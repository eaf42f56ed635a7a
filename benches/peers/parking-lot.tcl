# Parking lot of greedy TCP Vegas flows in ns-2.
#
#   ns parking-lot.tcl [-name value]...
#
#   src0 src1   src2     src3     src4          every sink
#      \ |        |        |        |            |||||
#       SW1 ==== SW2 ==== SW3 ==== SW4 ==== SW5 -+++++
#
# The flows cross 4, 4, 3, 2 and 1 switch links. Prints one line of JSON.

array set opt {
    scenario custom   rate 100e6    delay 0.001    buffer 128
    access 1e9        sdelay 0.0001 first 0.001    wire 512
    alpha 1           beta 3        gamma 1        iw 2
    window 10000      duration 3    warmup 0       dip 0
}
foreach {name value} $argv {
    set name [string range $name 1 end]
    if {![info exists opt($name)]} { puts stderr "unknown option -$name"; exit 2 }
    set opt($name) $value
}

remove-all-packet-headers
add-packet-header IP TCP Flags

set ns [new Simulator]
for {set k 1} {$k <= 5} {incr k} { set sw($k) [$ns node] }
for {set k 1} {$k < 5} {incr k} {
    set next [expr {$k + 1}]
    $ns duplex-link $sw($k) $sw($next) $opt(rate) $opt(delay) DropTail
    $ns queue-limit $sw($k) $sw($next) $opt(buffer)
    $ns queue-limit $sw($next) $sw($k) 1000000
}

set joins {1 1 2 3 4}
for {set i 0} {$i < 5} {incr i} {
    set join [lindex $joins $i]
    set src [$ns node]
    set dst [$ns node]
    set adelay [expr {$i == 0 ? $opt(first) : $opt(sdelay)}]
    foreach {host switch d} [list $src $sw($join) $adelay $dst $sw(5) $opt(sdelay)] {
        $ns duplex-link $host $switch $opt(access) $d DropTail
        $ns queue-limit $host $switch 1000000
        $ns queue-limit $switch $host 1000000
    }
    set tcp [new Agent/TCP/Vegas]
    set sink [new Agent/TCPSink]
    # Agent/TCP/Vegas adds no header: packetSize_ is the size on the wire.
    $tcp set packetSize_ $opt(wire)
    $tcp set window_ $opt(window)
    $tcp set windowInit_ $opt(iw)
    $tcp set v_alpha_ $opt(alpha)
    $tcp set v_beta_ $opt(beta)
    $tcp set v_gamma_ $opt(gamma)
    $ns attach-agent $src $tcp
    $ns attach-agent $dst $sink
    $ns connect $tcp $sink
    set ftp [new Application/FTP]
    $ftp attach-agent $tcp
    $ns at 0 "$ftp start"
    set tcps($i) $tcp
    # Links that a packet of this flow crosses: two access, the rest switch.
    set links($i) [expr {2 + 5 - $join}]
}
for {set k 1} {$k < 5} {incr k} {
    set monitor($k) [$ns monitor-queue $sw($k) $sw([expr {$k + 1}]) ""]
}

proc acked {i} {
    global tcps
    set n [$tcps($i) set ack_]
    return [expr {$n < 0 ? 0 : $n}]
}

proc mark {} {
    global base
    for {set i 0} {$i < 5} {incr i} { set base($i) [acked $i] }
}

# With -dip 1 the last switch link runs at half its rate from 1 s to 2 s.
proc set_last_rate {rate} {
    global ns sw
    [[$ns link $sw(4) $sw(5)] link] set bandwidth_ $rate
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

# The hops are counted as in dumbbell.tcl: first links at the senders, switch
# links at their monitors, the last link and the way back by acknowledgements.
proc finish {} {
    global opt base tcps links monitor setup_cpu
    set sum 0.0; set squares 0.0; set hops 0.0; set drops 0; set each {}; set rexmit 0
    set scale [expr {$opt(wire) * 8.0 / ($opt(duration) - $opt(warmup)) / 1e6}]
    for {set i 0} {$i < 5} {incr i} {
        set x [expr {([acked $i] - $base($i)) * $scale}]
        set sum [expr {$sum + $x}]
        set squares [expr {$squares + $x * $x}]
        lappend each [format %.3f $x]
        incr rexmit [$tcps($i) set nrexmitpack_]
        set hops [expr {$hops + [$tcps($i) set ndatapack_] + (1 + $links($i)) * [$tcps($i) set nackpack_]}]
    }
    for {set k 1} {$k < 5} {incr k} {
        set hops [expr {$hops + [$monitor($k) set pdepartures_]}]
        incr drops [expr {int([$monitor($k) set pdrops_])}]
        lappend at [expr {int([$monitor($k) set pdrops_])}]
    }
    set payload [expr {($opt(wire) - 40.0) / $opt(wire)}]
    puts [format {{"peer":"ns-2","scenario":"%s","cc":"vegas","flows":5,"duration_s":%g,"goodput_mbps":%.4f,"acked_wire_mbps":%.4f,"flow_wire_mbps":[%s],"jain":%.5f,"drops":%d,"drops_per_link":[%s],"retransmits":%d,"packet_hops":%.0f,"setup_cpu_s":%.2f,"max_rss_kb":%d}} \
        $opt(scenario) $opt(duration) [expr {$sum * $payload}] $sum [join $each ,] \
        [expr {$sum * $sum / (5 * $squares)}] $drops [join $at ,] $rexmit $hops $setup_cpu [max_rss_kb]]
    exit 0
}

$ns at $opt(warmup) mark
if {$opt(dip)} {
    $ns at 1.0 "set_last_rate [expr {$opt(rate) / 2}]"
    $ns at 2.0 "set_last_rate $opt(rate)"
}
$ns at $opt(duration) finish
set setup_cpu [cpu_s]
$ns run
