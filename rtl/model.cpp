// The Verilated top behind a C interface: the clock, both streams and the registers.
//
// Packets are queued by `model_send` and offered as the clock runs; words are kept until `model_receive` asks for them.
// The clock runs only inside of `model_read`, `model_write` and `model_receive`, each for a bounded number of cycles.
// Under a regime, words are offered late and taken late, at random, by a seed.

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <deque>
#include <vector>

#include "Vtop.h"
#include "verilated.h"

namespace {

constexpr int RESET_CYCLES = 16;
constexpr int ACCESS_CYCLES_MAX = 1000;             // For one read or write of a register.
constexpr int QUEUED_CYCLES = 4096;                 // That pass before a register is read while packets wait.
constexpr std::size_t WORDS_MAX = std::size_t{1} << 22;  // Kept for the host; then the stream waits.

struct Packet {
    std::vector<std::uint64_t> words;
    std::size_t at = 0;
};

struct Model {
    VerilatedContext context;
    Vtop top{&context};
    std::deque<Packet> packets;
    std::vector<std::uint32_t> words;
    std::size_t words_at = 0;                       // The first that was not given yet.
    std::size_t batches = 0;                        // Ends of batches among those words.
    bool offered = false;                           // A word is offered, and stays until it is taken.
    std::uint64_t cycles = 0;
    std::uint64_t quiet = 0;                        // Cycles of this wait in which no stream moved, up to now.
    unsigned gap_percent = 0, stall_percent = 0;
    std::uint32_t random = 1;

    bool chance(unsigned percent) {
        if (percent == 0) return false;
        random ^= random << 13;
        random ^= random >> 17;
        random ^= random << 5;
        return random % 100 < percent;
    }

    // The first half of a cycle: what the host offers, and what the card answers to it.
    void settle() {
        if (!offered && !packets.empty() && !chance(gap_percent)) {
            const Packet& packet = packets.front();
            offered = true;
            top.text_axis_tdata = packet.words[packet.at];
            top.text_axis_tlast = packet.at + 1 == packet.words.size();
        }
        top.text_axis_tvalid = offered;
        top.word_axis_tready = words.size() - words_at < WORDS_MAX && !chance(stall_percent);
        top.clk = 0;
        top.eval();
    }

    // The second half: the clock rises, and what both sides agreed on has moved.
    void rise() {
        ++quiet;
        if (offered && top.text_axis_tready) {
            offered = false;
            quiet = 0;
            if (++packets.front().at == packets.front().words.size()) packets.pop_front();
        }
        if (top.word_axis_tvalid && top.word_axis_tready) {
            quiet = 0;
            words.push_back(top.word_axis_tdata);
            batches += top.word_axis_tlast;
        }
        top.clk = 1;
        top.eval();
        ++cycles;
    }

    void forget() {
        packets.clear();
        words.clear();
        words_at = batches = 0;
        offered = false;
    }

    std::size_t give(std::uint32_t* into, std::size_t count) {
        std::memcpy(into, words.data() + words_at, count * sizeof *into);
        for (std::size_t at = words_at; at < words_at + count; ++at) batches -= (words[at] >> 24 & 7) == 7;
        words_at += count;
        if (2 * words_at >= words.size()) {
            words.erase(words.begin(), words.begin() + static_cast<std::ptrdiff_t>(words_at));
            words_at = 0;
        }
        return count;
    }
};

}  // namespace

extern "C" {

Model* model_new() {
    auto* model = new Model;
    auto& top = model->top;
    top.control_axil_awvalid = top.control_axil_wvalid = top.control_axil_arvalid = 0;
    top.control_axil_bready = top.control_axil_rready = 0;
    for (int cycle = 0; cycle < 2 * RESET_CYCLES; ++cycle) {
        top.rst = cycle < RESET_CYCLES;
        model->settle();
        model->rise();
    }
    model->cycles = 0;
    return model;
}

void model_free(Model* model) {
    model->top.final();
    delete model;
}

std::uint64_t model_cycles(const Model* model) { return model->cycles; }

std::uint64_t model_quiet(const Model* model) { return model->quiet; }

void model_regime(Model* model, unsigned gap_percent, unsigned stall_percent, std::uint32_t seed) {
    model->gap_percent = gap_percent;
    model->stall_percent = stall_percent;
    model->random = seed != 0 ? seed : 1;
}

// Drops what was queued and what was not received.
void model_forget(Model* model) { model->forget(); }

// Queues a packet of at least one word.
void model_send(Model* model, const std::uint64_t* words, std::size_t count) {
    model->packets.push_back(Packet{std::vector<std::uint64_t>(words, words + count)});
}

// Gives up to `count` words. Runs until there are so many or a batch has ended, for at most so many cycles; stops early
// when no stream has moved for `quiet_max` cycles.
std::size_t model_receive(
    Model* model, std::uint32_t* into, std::size_t count, std::uint64_t cycles_max, std::uint64_t quiet_max
) {
    model->quiet = 0;
    for (std::uint64_t cycle = 0; cycle < cycles_max && model->quiet < quiet_max; ++cycle) {
        if (model->batches > 0 || model->words.size() - model->words_at >= count) break;
        model->settle();
        model->rise();
    }
    const std::size_t here = model->words.size() - model->words_at;
    return model->give(into, here < count ? here : count);
}

// Runs the clock for so many cycles.
void model_run(Model* model, std::uint64_t cycles) {
    for (std::uint64_t cycle = 0; cycle < cycles; ++cycle) {
        model->settle();
        model->rise();
    }
}

// Returns 0, or -1 when the card did not answer.
int model_read(Model* model, std::uint32_t address, std::uint32_t* value) {
    auto& top = model->top;
    // A bus is slow beside the streams: a host that polls sees them move.
    for (int cycle = 0; cycle < QUEUED_CYCLES && !model->packets.empty(); ++cycle) {
        model->settle();
        model->rise();
    }
    top.control_axil_arvalid = 1;
    top.control_axil_araddr = static_cast<std::uint8_t>(address);
    top.control_axil_rready = 1;
    bool answered = false;
    for (int cycle = 0; cycle < ACCESS_CYCLES_MAX && !answered; ++cycle) {
        model->settle();
        const bool asked = top.control_axil_arvalid && top.control_axil_arready;
        answered = top.control_axil_rvalid;
        *value = top.control_axil_rdata;
        model->rise();
        if (asked) top.control_axil_arvalid = 0;
    }
    top.control_axil_arvalid = top.control_axil_rready = 0;
    return answered ? 0 : -1;
}

// Returns 0, or -1 when the card did not answer.
int model_write(Model* model, std::uint32_t address, std::uint32_t value) {
    auto& top = model->top;
    top.control_axil_awvalid = top.control_axil_wvalid = 1;
    top.control_axil_awaddr = static_cast<std::uint8_t>(address);
    top.control_axil_wdata = value;
    top.control_axil_wstrb = 15;
    top.control_axil_bready = 1;
    bool answered = false;
    for (int cycle = 0; cycle < ACCESS_CYCLES_MAX && !answered; ++cycle) {
        model->settle();
        const bool address_taken = top.control_axil_awvalid && top.control_axil_awready;
        const bool value_taken = top.control_axil_wvalid && top.control_axil_wready;
        answered = top.control_axil_bvalid;
        model->rise();
        if (address_taken) top.control_axil_awvalid = 0;
        if (value_taken) top.control_axil_wvalid = 0;
    }
    top.control_axil_awvalid = top.control_axil_wvalid = top.control_axil_bready = 0;
    return answered ? 0 : -1;
}

}  // extern "C"
