// The AXI4-Lite slave of the register block: turns the five channels into single requests.
//
//   pins --> address, data --> request --> registers --> response --> pins
//                                                          one access in about fifteen cycles
//
// For example, a write of 2 to CONTROL (address 10): aw 10 and w 00000002 with strobes F become one
// request {write, 10, 00000002, mask FFFFFFFF}, and b follows 10 cycles after its
// response.
//
// One access is outstanding at a time. Pending reads and writes alternate. Every arrow begins and
// ends at a register, because the block may lie far from the pins. The write response waits for
// SETTLE_CYCLES, so that a write has reached STATUS when the host reads it next. Addresses are
// those of words: the two lowest bits are ignored. Test: tests/rtl/test_bus.py.

`default_nettype none

module bus (
    input  wire         clk,
    input  wire         rst,

    input  wire         aw_valid,
    output wire         aw_ready,
    /* verilator lint_off UNUSEDSIGNAL */
    input  wire  [7:0]  aw_data,
    input  wire  [7:0]  ar_data,
    /* verilator lint_on UNUSEDSIGNAL */
    input  wire         w_valid,
    output wire         w_ready,
    input  wire  [31:0] w_data,
    input  wire  [3:0]  w_bytes,
    output logic        b_valid,
    input  wire         b_ready,
    output logic        b_error,
    input  wire         ar_valid,
    output wire         ar_ready,
    output logic        r_valid,
    input  wire         r_ready,
    output logic [31:0] r_data,
    output logic        r_error,

    // A request lasts a cycle. Its response comes in that cycle or later, before the next request.
    output logic        request_valid,
    output logic        request_write,
    output wire  [7:0]  request_address,
    output logic [31:0] request_data,
    output wire  [31:0] request_mask,     // The bits of the word that are written.
    input  wire         response_valid,
    input  wire         response_error,
    input  wire  [31:0] response_data
);

    // Cycles from a write to its effect in STATUS, with a margin; not measured.
    localparam int SETTLE_CYCLES = 8;

    // The channels' registers at the pins.
    logic        has_address, has_data, has_read;
    logic [5:0]  write_word, read_word;
    logic [31:0] write_data;
    logic [3:0]  write_bytes;

    // The access under way.
    logic        busy;                    // From the request until the host takes the response.
    logic [5:0]  request_word;
    logic [3:0]  request_bytes;
    logic        done, done_error;        // The response, a cycle later.
    logic [31:0] done_data;
    logic [SETTLE_CYCLES-1:0] settle_shift;   // One-hot; a one moves up after a write.

    // Alternation: of a pending read and a pending write, the kind other than the last one.
    wire has_write = has_address && has_data;
    wire read_now  = !busy && has_read && !(has_write && !request_write);
    wire write_now = !busy && has_write && !read_now;

    assign aw_ready        = !has_address;
    assign w_ready         = !has_data;
    assign ar_ready        = !has_read;
    assign request_address = {request_word, 2'b00};
    assign request_mask    = {
        {8{request_bytes[3]}}, {8{request_bytes[2]}}, {8{request_bytes[1]}}, {8{request_bytes[0]}}
    };

    always_ff @(posedge clk) begin
        if (!has_address) write_word <= aw_data[7:2];
        if (!has_data)    {write_data, write_bytes} <= {w_data, w_bytes};
        if (!has_read)    read_word <= ar_data[7:2];
        // The request register frees them, because the pins may be far from the decision.
        has_address <= has_address ? !(request_valid && request_write) : aw_valid;
        has_data    <= has_data ? !(request_valid && request_write) : w_valid;
        has_read    <= has_read ? !(request_valid && !request_write) : ar_valid;

        request_valid <= read_now || write_now;
        if (read_now || write_now) begin
            busy          <= 1'b1;
            request_write <= write_now;
        end
        if (!busy) begin
            request_word  <= write_now ? write_word : read_word;
            request_data  <= write_data;
            request_bytes <= write_bytes;
        end

        done         <= response_valid;
        done_error   <= response_error;
        done_data    <= response_data;
        settle_shift <= {settle_shift[SETTLE_CYCLES-2:0], done && request_write};
        if (settle_shift[SETTLE_CYCLES-1]) b_valid <= 1'b1;
        if (done) begin
            r_valid <= !request_write;
            b_error <= done_error;
            r_error <= done_error;
            r_data  <= done_data;
        end
        if (b_valid && b_ready || r_valid && r_ready) begin
            b_valid <= 1'b0;
            r_valid <= 1'b0;
            busy    <= 1'b0;
        end

        if (rst) begin
            has_address   <= 1'b0;
            has_data      <= 1'b0;
            has_read      <= 1'b0;
            busy          <= 1'b0;
            request_valid <= 1'b0;
            request_write <= 1'b0;
            done          <= 1'b0;
            settle_shift  <= '0;
            b_valid       <= 1'b0;
            r_valid       <= 1'b0;
        end
    end

endmodule

`default_nettype wire
