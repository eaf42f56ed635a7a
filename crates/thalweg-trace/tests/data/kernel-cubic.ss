1795857553.182033061
State Recv-Q Send-Q Local Address:Port Peer Address:PortProcess
1795857553.251032984
State Recv-Q Send-Q Local Address:Port Peer Address:PortProcess
1795857553.338234805
State Recv-Q Send-Q Local Address:Port Peer Address:PortProcess
1795857553.415076193
State Recv-Q Send-Q Local Address:Port Peer Address:PortProcess
1795857553.491007173
State Recv-Q Send-Q Local Address:Port Peer Address:PortProcess
1795857553.630111224
State      Recv-Q Send-Q       Local Address:Port         Peer Address:PortProcess
FIN-WAIT-1 0      1      [fd74:6861:6c77::1]:56538 [fd74:6861:6c77::2]:5001
	 bbr wscale:10,10 rto:244 rtt:43.503/21.751 mss:1428 pmtu:1500 rcvmss:536 advmss:1428 cwnd:10 bytes_acked:1 segs_out:3 segs_in:1 bbr:(bw:0bps,mrtt:43.503,pacing_gain:1,cwnd_gain:1) send 2626026bps lastsnd:12 lastrcv:12 lastack:12 pacing_rate 7503688bps delivered:1 app_limited busy:12ms unacked:1 rcv_space:14280 rcv_ssthresh:64108 minrtt:43.503 snd_wnd:64260
1795857553.722238442
State Recv-Q Send-Q Local Address:Port Peer Address:PortProcess
1795857553.810448656
State    Recv-Q Send-Q       Local Address:Port         Peer Address:PortProcess
SYN-SENT 0      1      [fd74:6861:6c77::1]:56546 [fd74:6861:6c77::2]:5001
	 cubic rto:1000 mss:1208 pmtu:1500 rcvmss:88 advmss:1440 cwnd:10 segs_out:1 lastsnd:14116908 lastrcv:14116908 lastack:14116908 app_limited unacked:1 rcv_ssthresh:64800
1795857554.038080826
State Recv-Q Send-Q       Local Address:Port         Peer Address:PortProcess
ESTAB 0      247044 [fd74:6861:6c77::1]:56546 [fd74:6861:6c77::2]:5001
	 cubic wscale:10,10 rto:268 rtt:64.718/2.81 mss:1428 pmtu:1500 rcvmss:536 advmss:1428 cwnd:57 ssthresh:56 bytes_sent:197064 bytes_acked:115669 segs_out:140 segs_in:74 data_segs_out:138 send 10061621bps lastrcv:200 pacing_rate 12073872bps delivery_rate 7616112bps delivered:82 busy:200ms unacked:57 rcv_space:14280 rcv_ssthresh:64108 notsent:165648 minrtt:41.684 snd_wnd:202752
1795857554.141669628
State Recv-Q Send-Q       Local Address:Port         Peer Address:PortProcess
ESTAB 0      224196 [fd74:6861:6c77::1]:56546 [fd74:6861:6c77::2]:5001
	 cubic wscale:10,10 rto:284 rtt:80.558/0.837 mss:1428 pmtu:1500 rcvmss:536 advmss:1428 cwnd:46 ssthresh:40 bytes_sent:249900 bytes_retrans:5712 bytes_acked:138517 segs_out:177 segs_in:111 data_segs_out:175 send 6523300bps lastsnd:4 lastrcv:268 pacing_rate 12592704bps delivery_rate 7474312bps delivered:126 busy:268ms unacked:74 retrans:4/4 lost:4 sacked:28 rcv_space:14280 rcv_ssthresh:64108 notsent:118524 minrtt:41.684 snd_wnd:260096
1795857554.195882876
State Recv-Q Send-Q       Local Address:Port         Peer Address:PortProcess
ESTAB 0      182784 [fd74:6861:6c77::1]:56546 [fd74:6861:6c77::2]:5001
	 cubic wscale:10,10 rto:276 rtt:75.324/1.416 mss:1428 pmtu:1500 rcvmss:536 advmss:1428 cwnd:40 ssthresh:40 bytes_sent:295596 bytes_retrans:7140 bytes_acked:179929 segs_out:209 segs_in:147 data_segs_out:207 send 6066592bps lastsnd:4 lastrcv:324 lastack:4 pacing_rate 13649808bps delivery_rate 6581632bps delivered:163 busy:324ms unacked:76 retrans:2/5 lost:2 sacked:36 rcv_space:14280 rcv_ssthresh:64108 notsent:74256 minrtt:41.684 snd_wnd:224256
1795857554.250473267
State Recv-Q Send-Q       Local Address:Port         Peer Address:PortProcess
ESTAB 0      222768 [fd74:6861:6c77::1]:56546 [fd74:6861:6c77::2]:5001
	 cubic wscale:10,10 rto:264 rtt:60.404/1.979 mss:1428 pmtu:1500 rcvmss:536 advmss:1428 cwnd:40 ssthresh:40 bytes_sent:349860 bytes_retrans:7140 bytes_acked:285601 segs_out:247 segs_in:180 data_segs_out:245 send 7565062bps lastrcv:376 pacing_rate 9078072bps delivery_rate 6264784bps delivered:201 busy:376ms unacked:40 retrans:0/5 rcv_space:14280 rcv_ssthresh:64108 notsent:165648 minrtt:41.684 snd_wnd:288768
1795857554.382339324
State Recv-Q Send-Q       Local Address:Port         Peer Address:PortProcess
ESTAB 0      145656 [fd74:6861:6c77::1]:56546 [fd74:6861:6c77::2]:5001
	 cubic wscale:10,10 rto:268 rtt:64.298/0.298 mss:1428 pmtu:1500 rcvmss:536 advmss:1428 cwnd:44 ssthresh:40 bytes_sent:561204 bytes_retrans:7140 bytes_acked:491233 segs_out:395 segs_in:324 data_segs_out:393 send 7817599bps lastrcv:592 pacing_rate 9381040bps delivery_rate 7613872bps delivered:345 busy:592ms unacked:44 retrans:0/5 rcv_space:14280 rcv_ssthresh:64108 notsent:82824 minrtt:41.684 snd_wnd:699392
1795857554.626638664
State Recv-Q Send-Q       Local Address:Port         Peer Address:PortProcess
ESTAB 0      235620 [fd74:6861:6c77::1]:56546 [fd74:6861:6c77::2]:5001
	 cubic wscale:10,10 rto:268 rtt:67.683/0.382 mss:1428 pmtu:1500 rcvmss:536 advmss:1428 cwnd:47 ssthresh:40 bytes_sent:732564 bytes_retrans:7140 bytes_acked:658309 segs_out:515 segs_in:441 data_segs_out:513 send 7932982bps lastrcv:768 pacing_rate 9519448bps delivery_rate 7615888bps delivered:462 busy:768ms unacked:47 retrans:0/5 rcv_space:14280 rcv_ssthresh:64108 notsent:168504 minrtt:41.684 snd_wnd:1034240
1795857554.790260334
State Recv-Q Send-Q       Local Address:Port         Peer Address:PortProcess
ESTAB 0      168504 [fd74:6861:6c77::1]:56546 [fd74:6861:6c77::2]:5001
	 cubic wscale:10,10 rto:272 rtt:71.791/0.374 mss:1428 pmtu:1500 rcvmss:536 advmss:1428 cwnd:49 ssthresh:40 bytes_sent:931056 bytes_retrans:7140 bytes_acked:853945 segs_out:654 segs_in:522 data_segs_out:652 send 7797300bps lastrcv:976 pacing_rate 9356704bps delivery_rate 7616632bps delivered:599 busy:976ms unacked:49 retrans:0/5 rcv_space:14280 rcv_ssthresh:64108 notsent:98532 minrtt:41.684 snd_wnd:1094656
1795857555.010238389
State Recv-Q Send-Q       Local Address:Port         Peer Address:PortProcess
ESTAB 0      231336 [fd74:6861:6c77::1]:56546 [fd74:6861:6c77::2]:5001
	 cubic wscale:10,10 rto:276 rtt:74.793/0.372 mss:1428 pmtu:1500 rcvmss:536 advmss:1428 cwnd:51 ssthresh:40 bytes_sent:1128120 bytes_retrans:7140 bytes_acked:1048153 segs_out:792 segs_in:592 data_segs_out:790 send 7789820bps lastrcv:1180 pacing_rate 9347672bps delivery_rate 7613968bps delivered:735 busy:1180ms unacked:51 retrans:0/5 rcv_space:14280 rcv_ssthresh:64108 notsent:158508 minrtt:41.684 snd_wnd:1094656
1795857555.206399125
State      Recv-Q Send-Q       Local Address:Port         Peer Address:PortProcess
FIN-WAIT-1 0      116913 [fd74:6861:6c77::1]:56546 [fd74:6861:6c77::2]:5001
	 cubic wscale:10,10 rto:280 rtt:76.685/0.355 mss:1428 pmtu:1500 rcvmss:536 advmss:1428 cwnd:52 ssthresh:40 bytes_sent:1275204 bytes_retrans:7140 bytes_acked:1193809 segs_out:895 segs_in:646 data_segs_out:893 send 7746600bps lastrcv:1332 pacing_rate 9295912bps delivery_rate 7614504bps delivered:837 busy:1332ms unacked:52 retrans:0/5 rcv_space:14280 rcv_ssthresh:64108 notsent:42657 minrtt:41.684 snd_wnd:1094656
1795857555.406191467
