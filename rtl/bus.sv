// The register bus, AXI4-Lite, as asks of the register block: one access at a time.
//
//   pins  -->  taken  -->  ask  -->  registers  -->  heard  -->  pins       one access in some fifteen cycles
//
// Every arrow begins and ends at a register, so that the block may lie anywhere between the pins and those whom its
// fields are for. Reads and writes that wait take turns. A write is answered when what it tells has had the time
// to come about and to be seen in STATUS. An address is that of a word: its two lowest bits are ignored.

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

    // An ask lasts a cycle. Its answer comes in the same one or later, and before the next ask.
    output logic        ask,
    output logic        ask_write,
    output wire  [7:0]  ask_address,
    output logic [31:0] ask_data,
    output wire  [31:0] ask_bits,         // Of the word, those that are written.
    input  wire         answer,
    input  wire         answer_error,
    input  wire  [31:0] answer_data
);

    localparam int SETTLE_CYCLES = 8;

    // Taken at the pins.
    logic        has_address, has_data, has_read;
    logic [5:0]  write_word, read_word;
    logic [31:0] write_data;
    logic [3:0]  write_bytes;

    // Asked for.
    logic        busy;                    // From the ask until the host has its answer.
    logic [5:0]  ask_word;
    logic [3:0]  ask_bytes;
    logic        heard, heard_error;
    logic [31:0] heard_data;
    logic [SETTLE_CYCLES-1:0] settling;   // A one that moves up after a write.

    // Of a read and a write that wait, it is the turn of that which was not the last.
    wire has_write = has_address && has_data;
    wire read_now  = !busy && has_read && !(has_write && !ask_write);
    wire write_now = !busy && has_write && !read_now;

    assign aw_ready    = !has_address;
    assign w_ready     = !has_data;
    assign ar_ready    = !has_read;
    assign ask_address = {ask_word, 2'b00};
    assign ask_bits    = {{8{ask_bytes[3]}}, {8{ask_bytes[2]}}, {8{ask_bytes[1]}}, {8{ask_bytes[0]}}};

    always_ff @(posedge clk) begin
        if (!has_address) write_word <= aw_data[7:2];
        if (!has_data)    {write_data, write_bytes} <= {w_data, w_bytes};
        if (!has_read)    read_word <= ar_data[7:2];
        // Free again when it is asked for, by a register: those at the pins may be far.
        has_address <= has_address ? !(ask && ask_write) : aw_valid;
        has_data    <= has_data ? !(ask && ask_write) : w_valid;
        has_read    <= has_read ? !(ask && !ask_write) : ar_valid;

        ask <= read_now || write_now;
        if (read_now || write_now) begin
            busy      <= 1'b1;
            ask_write <= write_now;
        end
        if (!busy) begin
            ask_word  <= write_now ? write_word : read_word;
            ask_data  <= write_data;
            ask_bytes <= write_bytes;
        end

        heard       <= answer;
        heard_error <= answer_error;
        heard_data  <= answer_data;
        settling    <= {settling[SETTLE_CYCLES-2:0], heard && ask_write};
        if (settling[SETTLE_CYCLES-1]) b_valid <= 1'b1;
        if (heard) begin
            r_valid <= !ask_write;
            b_error <= heard_error;
            r_error <= heard_error;
            r_data  <= heard_data;
        end
        if (b_valid && b_ready || r_valid && r_ready) begin
            b_valid <= 1'b0;
            r_valid <= 1'b0;
            busy    <= 1'b0;
        end

        if (rst) begin
            has_address <= 1'b0;
            has_data    <= 1'b0;
            has_read    <= 1'b0;
            busy        <= 1'b0;
            ask         <= 1'b0;
            ask_write   <= 1'b0;
            heard       <= 1'b0;
            settling    <= '0;
            b_valid     <= 1'b0;
            r_valid     <= 1'b0;
        end
    end

endmodule

`default_nettype wire
