# Datagrams of several flows, at times that a file tells, through one queue, in ns-2.
#
#   ns queues.tcl arrivals=FILE queue=DropTail rate=1Mb limit=20 trace=FILE ...
#
# FILE has a line for each packet: seconds, flow (from 0), bytes. Each flow has a node of its own before the queue, behind a
# link that takes next to no time, as SFQ and DRR of ns-2 tell flows apart by their addresses. Further parameters are
# variables of the queue (`buckets_=64`), set before it is made.

array set opt { arrivals "" queue DropTail rate 1Mb limit 20 trace "" flows 8 seed 1 }
foreach arg $argv {
    set place [string first = $arg]
    set opt([string range $arg 0 [expr {$place - 1}]]) [string range $arg [expr {$place + 1}] end]
}
foreach name [array names opt] {
    if {[string match *_ $name]} { Queue/$opt(queue) set $name $opt($name) }
}
ns-random $opt(seed)
set ns [new Simulator]
set router [$ns node]
set sink [$ns node]
$ns simplex-link $router $sink $opt(rate) 0ms $opt(queue)
$ns queue-limit $router $sink $opt(limit)
$ns trace-queue $router $sink [open $opt(trace) w]
for {set i 0} {$i < $opt(flows)} {incr i} {
    set node($i) [$ns node]
    $ns simplex-link $node($i) $router 1000Gb 0ms DropTail
    $ns queue-limit $node($i) $router 100000
    set udp($i) [new Agent/UDP]
    $udp($i) set packetSize_ 65000
    $udp($i) set fid_ $i
    $ns attach-agent $node($i) $udp($i)
    set null($i) [new Agent/Null]
    $ns attach-agent $sink $null($i)
    $ns connect $udp($i) $null($i)
}
set file [open $opt(arrivals) r]
set last 0
while {[gets $file line] >= 0} {
    lassign $line at flow size
    $ns at $at "$udp($flow) send $size"
    set last $at
}
$ns at [expr {$last + 60}] "exit 0"
$ns run
