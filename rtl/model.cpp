// The Verilated `top` behind a C interface: the clock, both streams and the registers.
//
//   model_send     -->  packets queue  -->  text_axis  -->  top  -->  word_axis  -->  words buffer
//   model_read, model_write  <-->  control_axil                       model_receive  <-----+
//
// After the reset, the clock runs only inside `model_read`, `model_write`, `model_receive` and
// `model_run`, each for a bounded number of cycles. Under a regime, offers are delayed and words are
// stalled at random, by a seed. For example, `model_regime(m, 60, 0, 7)` delays 60 of 100 offers.
// The caller is python/zeton/accel/transports/sim.py. Test: tests/rtl/test_top.py.

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <deque>
#include <vector>

#include "Vtop.h"
#include "verilated.h"

namespace {

constexpr int RESET_CYCLES = 16;
constexpr int ACCESS_CYCLES_MAX = 1000;             // For one register access; about 15 are needed.
constexpr int QUEUED_CYCLES = 4096;                 // Before a register read, with packets queued.
constexpr std::size_t WORDS_MAX = std::size_t{1} << 22;  // In the buffer; then the stream stalls.
constexpr std::uint32_t WORD_BATCH = 7;             // The kind of the word that ends a batch.

struct Packet {
    std::vector<std::uint64_t> words;
    std::size_t at = 0;
};

struct Model {
    VerilatedContext context;
    Vtop top{&context};
    std::deque<Packet> packets;
    std::vector<std::uint32_t> words;
    std::size_t words_at = 0;                       // The first word that was not received.
    std::size_t batches = 0;                        // Ends of batches among those words.
    bool offered = false;                           // A word is offered; it stays until taken.
    std::uint64_t cycles = 0;
    std::uint64_t quiet = 0;                        // Cycles since a stream last moved.
    unsigned gap_percent = 0, stall_percent = 0;
    std::uint32_t random = 1;

    bool chance(unsigned percent) {
        if (percent == 0) return false;
        random ^= random << 13;
        random ^= random >> 17;
        random ^= random << 5;
        return random % 100 < percent;
    }

    // The first half of a cycle: the host's inputs, and the card's combinational outputs.
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

    // The second half: the clock rises, and every valid and ready pair transfers.
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
        for (std::size_t at = words_at; at < words_at + count; ++at) {
            batches -= (words[at] >> 24 & 7) == WORD_BATCH;
        }
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

// Drops queued packets and received words.
void model_forget(Model* model) { model->forget(); }

// Queues a packet of at least one word.
void model_send(Model* model, const std::uint64_t* words, std::size_t count) {
    model->packets.push_back(Packet{std::vector<std::uint64_t>(words, words + count)});
}

// Gives up to `count` words. Runs until `count` words are there or a batch has ended, for at most
// `cycles_max` cycles; stops early when no stream has moved for `quiet_max` cycles.
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

// Runs the clock for `cycles` cycles.
void model_run(Model* model, std::uint64_t cycles) {
    for (std::uint64_t cycle = 0; cycle < cycles; ++cycle) {
        model->settle();
        model->rise();
    }
}

// Returns 0, or -1 without a response.
int model_read(Model* model, std::uint32_t address, std::uint32_t* value) {
    auto& top = model->top;
    // A host that polls sees the streams move, because a bus is slower than they are.
    for (int cycle = 0; cycle < QUEUED_CYCLES && !model->packets.empty(); ++cycle) {
        model->settle();
        model->rise();
    }
    top.control_axil_arvalid = 1;
    top.control_axil_araddr = static_cast<std::uint8_t>(address);
    top.control_axil_rready = 1;
    bool responded = false;
    for (int cycle = 0; cycle < ACCESS_CYCLES_MAX && !responded; ++cycle) {
        model->settle();
        const bool accepted = top.control_axil_arvalid && top.control_axil_arready;
        responded = top.control_axil_rvalid;
        *value = top.control_axil_rdata;
        model->rise();
        if (accepted) top.control_axil_arvalid = 0;
    }
    top.control_axil_arvalid = top.control_axil_rready = 0;
    return responded ? 0 : -1;
}

// Returns 0, or -1 without a response.
int model_write(Model* model, std::uint32_t address, std::uint32_t value) {
    auto& top = model->top;
    top.control_axil_awvalid = top.control_axil_wvalid = 1;
    top.control_axil_awaddr = static_cast<std::uint8_t>(address);
    top.control_axil_wdata = value;
    top.control_axil_wstrb = 15;
    top.control_axil_bready = 1;
    bool responded = false;
    for (int cycle = 0; cycle < ACCESS_CYCLES_MAX && !responded; ++cycle) {
        model->settle();
        const bool address_accepted = top.control_axil_awvalid && top.control_axil_awready;
        const bool value_accepted = top.control_axil_wvalid && top.control_axil_wready;
        responded = top.control_axil_bvalid;
        model->rise();
        if (address_accepted) top.control_axil_awvalid = 0;
        if (value_accepted) top.control_axil_wvalid = 0;
    }
    top.control_axil_awvalid = top.control_axil_wvalid = top.control_axil_bready = 0;
    return responded ? 0 : -1;
}

}  // extern "C"
