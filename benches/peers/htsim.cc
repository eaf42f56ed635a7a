// Greedy TCP flows in htsim: the dumbbell of dumbbell.tcl, and a fat tree in which each host sends to one other.
//
//   htsim dumbbell -flows 10 -rate 100e6 -delay 0.01 -buffer 625 ...
//   htsim fabric -k 8 -rate 10e9 -delay 1e-6 -duration 0.01 ...
//
// Prints one line of JSON. install-htsim.sh fetches htsim and builds it with this file.

#include "clock.h"
#include "config.h"
#include "dctcp.h"
#include "ecnqueue.h"
#include "eventlist.h"
#include "network.h"
#include "pipe.h"
#include "queue.h"
#include "route.h"
#include "tcp.h"

#include <cmath>
#include <cstdio>
#include <cstring>
#include <ctime>
#include <fstream>
#include <iostream>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace {

uint64_t hops = 0;

/// A drop-tail queue that counts what leaves it.
class Tail : public Queue
{
  public:
    Tail(double rate, mem_b most, EventList& events)
        : Queue(linkspeed_bps(rate), most, events, nullptr)
    {
    }

  protected:
    void completeService() override
    {
        ++hops;
        Queue::completeService();
    }
};

/// The same with marks above a threshold.
class Step : public ECNQueue
{
  public:
    Step(double rate, mem_b most, mem_b threshold, EventList& events)
        : ECNQueue(linkspeed_bps(rate), most, events, nullptr, threshold)
    {
    }

    void completeService()
    {
        ++hops;
        ECNQueue::completeService();
    }
};

long peak_memory()
{
    std::ifstream status("/proc/self/status");
    std::string line;
    while (std::getline(status, line))
    {
        if (line.rfind("VmHWM:", 0) == 0)
        {
            return std::stol(line.substr(6));
        }
    }
    return 0;
}

double cpu()
{
    return double(std::clock()) / CLOCKS_PER_SEC;
}

/// The options of the command line, each with a value.
class Options
{
  public:
    Options(int count, char** words)
    {
        for (int i = 2; i + 1 < count; i += 2)
        {
            values_[words[i] + 1] = words[i + 1];
        }
    }

    double number(const char* name, double usual) const
    {
        auto found = values_.find(name);
        return found == values_.end() ? usual : std::stod(found->second);
    }

    std::string text(const char* name, const char* usual) const
    {
        auto found = values_.find(name);
        return found == values_.end() ? usual : found->second;
    }

  private:
    std::map<std::string, std::string> values_;
};

/// A direction of a link.
struct Line
{
    Queue* queue;
    Pipe* wire;
};

void onto(Route& route, const Line& line)
{
    route.push_back(line.queue);
    route.push_back(line.wire);
}

/// The flows of a run, and what it measures.
class Run
{
  public:
    explicit Run(const Options& options)
        : options_(options), events_(EventList::getTheEventList()),
          duration_(options.number("duration", 10)), warmup_(options.number("warmup", 0)),
          payload_(options.number("payload", 1000)), header_(options.number("header", 40)),
          scanner_(timeFromMs(options.number("scan", 10)), events_)
    {
        Packet::set_packet_size(int(payload_ + header_));
        EventList::setEndtime(timeFromSec(duration_));
    }

    EventList& events()
    {
        return events_;
    }

    mem_b packets(double count) const
    {
        return mem_b(count * (payload_ + header_));
    }

    /// The routes lead to the sink, and back.
    void flow(Route* there, Route* back, double start)
    {
        bool is_dctcp = options_.text("cc", "newreno") == "dctcp";
        TcpSrc* source = is_dctcp ? new DCTCPSrc(nullptr, nullptr, events_) : new TcpSrc(nullptr, nullptr, events_);
        TcpSink* sink = new TcpSink();
        source->set_ssthresh(1u << 30);
        source->set_cwnd(uint64_t(options_.number("iw", 10) * (payload_ + header_)));
        there->push_back(sink);
        back->push_back(source);
        source->connect(*there, *back, *sink, timeFromSec(start));
        scanner_.registerTcp(*source);
        sinks_.push_back(sink);
    }

    void watch(Queue* queue)
    {
        watched_.push_back(queue);
    }

    void go()
    {
        double setup = cpu();
        std::vector<double> before(sinks_.size(), 0);
        bool counts = warmup_ == 0;
        uint64_t events = 0;
        while (EventList::doNextEvent())
        {
            ++events;
            if (!counts && timeAsSec(EventList::now()) >= warmup_)
            {
                counts = true;
                for (size_t i = 0; i < sinks_.size(); i++)
                {
                    before[i] = double(sinks_[i]->_cumulative_ack);
                }
            }
        }
        double sum = 0;
        double squares = 0;
        for (size_t i = 0; i < sinks_.size(); i++)
        {
            double bytes = (double(sinks_[i]->_cumulative_ack) - before[i]) * payload_ / (payload_ + header_);
            sum += bytes;
            squares += bytes * bytes;
        }
        uint64_t drops = 0;
        for (Queue* queue : watched_)
        {
            drops += uint64_t(queue->num_drops());
        }
        std::printf("{\"peer\":\"htsim\",\"flows\":%zu,\"duration_s\":%g,\"goodput_mbps\":%.4f,\"jain\":%.5f,"
                    "\"drops\":%llu,\"packet_hops\":%llu,\"events\":%llu,\"setup_cpu_s\":%.2f,\"max_rss_kb\":%ld}\n",
                    sinks_.size(),
                    duration_,
                    sum * 8 / (duration_ - warmup_) / 1e6,
                    squares > 0 ? sum * sum / (double(sinks_.size()) * squares) : 0.0,
                    (unsigned long long)drops,
                    (unsigned long long)hops,
                    (unsigned long long)events,
                    setup,
                    peak_memory());
    }

  private:
    const Options& options_;
    EventList& events_;
    double duration_;
    double warmup_;
    double payload_;
    double header_;
    TcpRtxTimerScanner scanner_;
    std::vector<TcpSink*> sinks_;
    std::vector<Queue*> watched_;
};

void dumbbell(const Options& options)
{
    Run run(options);
    double rate = options.number("rate", 100e6);
    double access = options.number("access", 1e9);
    double delay = options.number("delay", 0.01);
    double own = options.number("adelay", 0.001);
    auto line = [&](double bits, double wait, double room) {
        return Line{new Tail(bits, run.packets(room), run.events()), new Pipe(timeFromSec(wait), run.events())};
    };
    Line there = line(rate, delay, options.number("buffer", 625));
    Line back = line(rate, delay, 1e6);
    run.watch(there.queue);
    for (int i = 0; i < int(options.number("flows", 10)); i++)
    {
        Route* out = new Route();
        Route* in = new Route();
        onto(*out, line(access, own, 1e6));
        onto(*out, there);
        onto(*out, line(access, own, 1e6));
        onto(*in, line(access, own, 1e6));
        onto(*in, back);
        onto(*in, line(access, own, 1e6));
        run.flow(out, in, i * options.number("stagger", 0));
    }
    run.go();
}

/// Numbers that look random, the same in each run.
class Draws
{
  public:
    explicit Draws(uint64_t seed) : state_(seed * 2862933555777941757ULL + 3037000493ULL)
    {
    }

    uint64_t below(uint64_t end)
    {
        state_ = state_ * 6364136223846793005ULL + 1442695040888963407ULL;
        return (state_ >> 33) % end;
    }

  private:
    uint64_t state_;
};

void fabric(const Options& options)
{
    Run run(options);
    Draws draws(uint64_t(options.number("seed", 1)));
    int k = int(options.number("k", 4));
    int half = k / 2;
    int hosts = k * half * half;
    double rate = options.number("rate", 10e9);
    double delay = options.number("delay", 1e-6);
    mem_b room = run.packets(options.number("buffer", 300));
    mem_b threshold = run.packets(options.number("threshold", 65));
    // Hosts, then edge and aggregation switches pod by pod, then the core: the lines between each two that have one.
    int edges = hosts;
    int aggregates = edges + k * half;
    int cores = aggregates + k * half;
    std::map<std::pair<int, int>, Line> lines;
    auto join = [&](int a, int b) {
        for (auto ends : {std::make_pair(a, b), std::make_pair(b, a)})
        {
            Line line{new Step(rate, room, threshold, run.events()), new Pipe(timeFromSec(delay), run.events())};
            lines[ends] = line;
            run.watch(line.queue);
        }
    };
    for (int host = 0; host < hosts; host++)
    {
        join(host, edges + host / half);
    }
    for (int pod = 0; pod < k; pod++)
    {
        for (int i = 0; i < half; i++)
        {
            for (int j = 0; j < half; j++)
            {
                join(edges + pod * half + i, aggregates + pod * half + j);
                join(aggregates + pod * half + i, cores + i * half + j);
            }
        }
    }
    // A way by one of the shortest paths, drawn for each direction of each flow, as a hash of its addresses would.
    auto way = [&](int from, int to) {
        std::vector<int> nodes{from, edges + from / half};
        int pods[2] = {from / (half * half), to / (half * half)};
        if (from / half != to / half)
        {
            int by = int(draws.below(uint64_t(half)));
            nodes.push_back(aggregates + pods[0] * half + by);
            if (pods[0] != pods[1])
            {
                nodes.push_back(cores + by * half + int(draws.below(uint64_t(half))));
                nodes.push_back(aggregates + pods[1] * half + by);
            }
            nodes.push_back(edges + to / half);
        }
        nodes.push_back(to);
        Route* route = new Route();
        for (size_t i = 0; i + 1 < nodes.size(); i++)
        {
            onto(*route, lines.at({nodes[i], nodes[i + 1]}));
        }
        return route;
    };
    std::vector<int> sinks(static_cast<size_t>(hosts));
    for (int i = 0; i < hosts; i++)
    {
        sinks[size_t(i)] = i;
    }
    for (int i = hosts - 1; i > 0; i--)
    {
        // Sattolo's cycle: nobody sends to itself.
        std::swap(sinks[size_t(i)], sinks[draws.below(uint64_t(i))]);
    }
    for (int host = 0; host < hosts; host++)
    {
        int sink = sinks[size_t(host)];
        run.flow(way(host, sink), way(sink, host), double(draws.below(1000)) * 1e-9);
    }
    run.go();
}

} // namespace

int main(int count, char** words)
{
    // Each timeout is told there.
    std::cout.setstate(std::ios_base::failbit);
    if (count > 1 && !std::strcmp(words[1], "dumbbell"))
    {
        dumbbell(Options(count, words));
    }
    else if (count > 1 && !std::strcmp(words[1], "fabric"))
    {
        fabric(Options(count, words));
    }
    else
    {
        std::fprintf(stderr, "expected `dumbbell` or `fabric`, and options with values\n");
        return 2;
    }
    return 0;
}
