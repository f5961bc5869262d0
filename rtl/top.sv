// The accelerator: lanes behind one stream of text, one stream of words, and registers.
//
//   text_axis  --+-->  frames  -->  lanes  -->  gather  -->  word_axis
//                +-->  loader  -->  tables of all lanes
//   control_axil  -->  registers                                             one byte per cycle and lane
//
// docs/accelerator.md has the formats of both streams, docs/accelerator-registers.md the registers. Everything but the
// tables and what registers were told is reset by CONTROL.reset; meanwhile the text stream is taken and dropped.

`default_nettype none

module top #(
    parameter int LANES       = 1,   // At most 16.
    parameter int ID_BITS     = 17,
    parameter int BANK_BITS   = 15,
    parameter int UNITS       = 12,
    parameter int SLOTS       = 16,
    parameter int WIDE_UNITS  = 4,
    parameter int WIDE_SLOTS  = 32,
    parameter int BRIDGE_BITS = 16,
    parameter int BYTES_LOG   = 11,
    parameter int FRAMES_LOG  = 9    // Words of 8 bytes that wait for a lane.
) (
    input  wire         clk,
    input  wire         rst,

    input  wire         text_axis_tvalid,
    output wire         text_axis_tready,
    input  wire  [63:0] text_axis_tdata,
    input  wire         text_axis_tlast,

    output wire         word_axis_tvalid,
    input  wire         word_axis_tready,
    output wire  [31:0] word_axis_tdata,
    output wire         word_axis_tlast,

    input  wire         control_axil_awvalid,
    output wire         control_axil_awready,
    input  wire  [7:0]  control_axil_awaddr,
    /* verilator lint_off UNUSEDSIGNAL */
    input  wire  [2:0]  control_axil_awprot,
    /* verilator lint_on UNUSEDSIGNAL */
    input  wire         control_axil_wvalid,
    output wire         control_axil_wready,
    input  wire  [31:0] control_axil_wdata,
    input  wire  [3:0]  control_axil_wstrb,
    output wire         control_axil_bvalid,
    input  wire         control_axil_bready,
    output wire  [1:0]  control_axil_bresp,
    input  wire         control_axil_arvalid,
    output wire         control_axil_arready,
    input  wire  [7:0]  control_axil_araddr,
    /* verilator lint_off UNUSEDSIGNAL */
    input  wire  [2:0]  control_axil_arprot,
    /* verilator lint_on UNUSEDSIGNAL */
    output wire         control_axil_rvalid,
    input  wire         control_axil_rready,
    output wire  [31:0] control_axil_rdata,
    output wire  [1:0]  control_axil_rresp
);

    localparam int RESET_CYCLES = 16;
    localparam int QUIET_CYCLES = 4;                     // Lanes that say so for so long are idle.
    localparam int COUNTERS     = 9;
    localparam int STEP_BITS    = $clog2(2 * LANES + 1); // A lane looks up to two pairs up at once.

    // The register block has registers around it: what it tells, and what it is told, is a cycle old.
    registers_pkg::registers__in_t  registers_in;
    registers_pkg::registers__out_t registers_out;
    logic        told_reset, told_load, told_snapshot;
    logic [7:0]  told_lane;
    logic [3:0]  told_select;
    logic [19:0] told_address;

    always_ff @(posedge clk) begin
        told_reset    <= registers_out.CONTROL.reset.value && !rst;
        told_load     <= registers_out.CONTROL.load.value && !rst;
        told_snapshot <= registers_out.SNAPSHOT.take.value && !rst;
        told_lane     <= registers_out.TABLE_LANE.index.value;
        told_select   <= registers_out.TABLE_SELECT.kind.value;
        told_address  <= registers_out.TABLE_ADDRESS.entry.value;
    end

    // Reset by a register, for some cycles.
    logic [$clog2(RESET_CYCLES):0] reset_left;
    wire  resetting = reset_left != '0;
    logic reset;          // A register, for it has a long way to go;
    logic lane_reset;     // in lanes, a cycle later, and before any text.

    always_ff @(posedge clk) begin
        reset      <= rst || resetting;
        lane_reset <= reset;
        if (told_reset)     reset_left <= ($clog2(RESET_CYCLES) + 1)'(RESET_CYCLES);
        else if (resetting) reset_left <= reset_left - 1'b1;
        if (rst) reset_left <= '0;
    end

    // The text stream goes to frames, or to the loader. It has registers at the pins, and near them; words have some too.
    wire        load = told_load;
    wire        text_ready_now, frames_ready, loader_ready;
    wire        pin_valid, pin_ready, pin_last;
    wire [63:0] pin_data;
    wire        in_valid, in_last;
    wire [63:0] in_data;
    wire        out_valid, out_ready, out_last;
    wire [31:0] out_data;

    skid #(.WIDTH(65)) text_skid (
        .clk, .rst(reset),
        .in_valid(text_axis_tvalid), .in_ready(text_ready_now), .in_data({text_axis_tlast, text_axis_tdata}),
        .out_valid(pin_valid), .out_ready(pin_ready), .out_data({pin_last, pin_data})
    );
    skid #(.WIDTH(65)) text_near (
        .clk, .rst(reset),
        .in_valid(pin_valid), .in_ready(pin_ready), .in_data({pin_last, pin_data}),
        .out_valid(in_valid), .out_ready(load ? loader_ready : frames_ready), .out_data({in_last, in_data})
    );
    assign text_axis_tready = resetting || text_ready_now;

    skid #(.WIDTH(33)) word_skid (
        .clk, .rst(reset),
        .in_valid(out_valid), .in_ready(out_ready), .in_data({out_last, out_data}),
        .out_valid(word_axis_tvalid), .out_ready(word_axis_tready), .out_data({word_axis_tlast, word_axis_tdata})
    );

    // Text to lanes.
    wire [LANES-1:0]    text_valid, text_ready, text_keep, text_last, text_mark;
    wire [LANES*8-1:0]  text_byte;
    wire [LANES-1:0]    word_valid, word_ready, lane_idle;
    wire [LANES*28-1:0] word_data;
    wire                frames_idle, gather_idle, loader_idle, bad_frame;

    frames #(.LANES(LANES), .DEPTH_LOG(FRAMES_LOG)) text_frames (
        .clk, .rst(reset), .idle(frames_idle), .bad(bad_frame),
        .in_valid(in_valid && !load), .in_ready(frames_ready), .in_data, .in_last,
        .text_valid, .text_ready, .text_byte, .text_keep, .text_last, .text_mark
    );

    // Lanes.
    wire              table_write;
    wire [LANES-1:0]  table_read;
    wire [3:0]        table_select;
    wire [19:0]       table_address;
    wire [39:0]       table_data;
    logic [39:0]      lane_answer [LANES];
    logic [39:0]      table_answer;

    wire [LANES-1:0]   count_byte, count_piece, count_bad, count_id, count_raw;
    wire [2*LANES-1:0] count_lookup;

    generate
        for (genvar l = 0; l < LANES; l++) begin : lanes
            // What a lane's tables are told, and what they answer, has a cycle for the way.
            logic        lane_write, lane_read;
            logic [3:0]  lane_select;
            logic [19:0] lane_address;
            logic [39:0] lane_data;
            wire  [39:0] lane_entry;

            always_ff @(posedge clk) begin
                lane_write     <= table_write && !reset;
                lane_read      <= table_read[l] && !reset;
                lane_select    <= table_select;
                lane_address   <= table_address;
                lane_data      <= table_data;
                lane_answer[l] <= reset ? '0 : lane_entry;
            end

            lane #(
                .ID_BITS(ID_BITS), .BANK_BITS(BANK_BITS), .UNITS(UNITS), .SLOTS(SLOTS),
                .WIDE_UNITS(WIDE_UNITS), .WIDE_SLOTS(WIDE_SLOTS), .BRIDGE_BITS(BRIDGE_BITS), .BYTES_LOG(BYTES_LOG)
            ) text_lane (
                .clk, .rst(lane_reset), .idle(lane_idle[l]),
                .text_valid(text_valid[l]), .text_ready(text_ready[l]), .text_byte(text_byte[l*8 +: 8]),
                .text_keep(text_keep[l]), .text_last(text_last[l]), .text_mark(text_mark[l]),
                .word_valid(word_valid[l]), .word_ready(word_ready[l]), .word_data(word_data[l*28 +: 28]),
                .table_write(lane_write), .table_read(lane_read), .table_select(lane_select),
                .table_address(lane_address), .table_data(lane_data), .table_answer(lane_entry),
                .count_byte(count_byte[l]), .count_piece(count_piece[l]), .count_bad(count_bad[l]),
                .count_id(count_id[l]), .count_raw(count_raw[l]), .count_lookup(count_lookup[2*l +: 2])
            );
        end
    endgenerate

    always_comb begin
        table_answer = '0;
        for (int l = 0; l < LANES; l++) table_answer = table_answer | lane_answer[l];
    end

    // Lanes to words.
    gather #(.LANES(LANES)) word_gather (
        .clk, .rst(reset), .idle(gather_idle),
        .word_valid, .word_ready, .word_data,
        .out_valid, .out_ready, .out_data, .out_last
    );

    // Nothing is under way. An item between two blocks is seen by neither for a cycle: so lanes have to be quiet for some.
    logic [QUIET_CYCLES-1:0] quiet;
    logic streams_idle;            // In the last cycle. What came since is at the pins, and far from the tables.

    always_ff @(posedge clk) begin
        streams_idle <= !pin_valid && !in_valid && frames_idle && (&quiet) && gather_idle && !word_axis_tvalid && !resetting;
        quiet        <= {quiet[QUIET_CYCLES-2:0], frames_idle && (&lane_idle)};
        if (reset) begin
            streams_idle <= 1'b0;
            quiet        <= '0;
        end
    end

    // Tables.
    wire        refused, load_clear, load_start, loading, answer_valid;
    wire [39:0] answer;
    logic       read_written, read_start;  // The address that was written is in its register, and then at the loader.

    always_ff @(posedge clk) begin
        read_written <= registers_out.TABLE_ADDRESS.entry.swmod && !rst;
        read_start   <= read_written && !rst;
    end

    loader #(.LANES(LANES)) table_loader (
        .clk, .rst(reset), .idle(loader_idle), .others_idle(streams_idle), .refused,
        .load, .load_clear, .load_start, .loading,
        .in_valid, .in_ready(loader_ready), .in_data, .in_last,
        .read_start, .read_lane(told_lane), .read_select(told_select), .read_address(told_address),
        .answer_valid, .answer,
        .table_write, .table_read, .table_select, .table_address, .table_data, .table_answer
    );

    // Counters, in the order of the registers.
    logic [COUNTERS*STEP_BITS-1:0] steps;
    wire  [COUNTERS*64-1:0]        counts;

    function automatic [STEP_BITS-1:0] how_many(input [LANES-1:0] bits);
        how_many = '0;
        for (int l = 0; l < LANES; l++) how_many = how_many + STEP_BITS'(bits[l]);
    endfunction

    logic [STEP_BITS-1:0] lookups;

    always_comb begin
        lookups = '0;
        for (int l = 0; l < LANES; l++) lookups = lookups + STEP_BITS'(count_lookup[2*l +: 2]);
    end

    always_ff @(posedge clk) begin
        steps <= {
            STEP_BITS'(word_axis_tvalid && !word_axis_tready),
            STEP_BITS'(text_axis_tvalid && !text_axis_tready),
            lookups,
            how_many(count_bad),
            how_many(count_raw),
            how_many(count_piece),
            how_many(count_id),
            how_many(count_byte),
            STEP_BITS'(1'b1)
        };
        if (reset) steps <= '0;
    end

    counters #(.COUNTERS(COUNTERS), .STEP_BITS(STEP_BITS)) all_counters (
        .clk, .rst(reset), .steps, .snapshot(told_snapshot), .copy(counts)
    );

    // Registers.
    assign registers_in.SHAPE_0.lanes.next       = 8'(LANES);
    assign registers_in.SHAPE_0.units.next       = 8'(UNITS);
    assign registers_in.SHAPE_0.wide_units.next  = 8'(WIDE_UNITS);
    assign registers_in.SHAPE_0.id_bits.next     = 8'(ID_BITS);
    assign registers_in.SHAPE_1.slots.next       = 8'(SLOTS);
    assign registers_in.SHAPE_1.wide_slots.next  = 8'(WIDE_SLOTS);
    assign registers_in.SHAPE_1.bank_bits.next   = 8'(BANK_BITS);
    assign registers_in.SHAPE_1.bridge_bits.next = 8'(BRIDGE_BITS);

    logic        seen_clear, seen_idle, seen_loading, seen_frame, seen_busy, seen_resetting, seen_start, seen_valid;
    logic [39:0] seen_answer;

    always_ff @(posedge clk) begin
        seen_clear     <= load_clear;
        seen_idle      <= streams_idle && loader_idle && !told_reset && !resetting;
        seen_loading   <= load || loading;
        seen_frame     <= bad_frame && !resetting;
        seen_busy      <= refused && !resetting;
        seen_resetting <= resetting;
        seen_start     <= load_start;
        seen_valid     <= answer_valid;
        seen_answer    <= answer;
    end

    assign registers_in.CONTROL.load.hwclr    = seen_clear;
    assign registers_in.STATUS.idle.next      = seen_idle;
    assign registers_in.STATUS.loading.next   = seen_loading;
    assign registers_in.STATUS.frame.hwset    = seen_frame;
    assign registers_in.STATUS.frame.hwclr    = seen_resetting;
    assign registers_in.STATUS.busy.hwset     = seen_busy;
    assign registers_in.STATUS.busy.hwclr     = seen_resetting;
    assign registers_in.IMAGE_0.digest.hwclr  = seen_start;
    assign registers_in.IMAGE_1.digest.hwclr  = seen_start;
    assign registers_in.TABLE_LOW.data.next   = seen_answer[31:0];
    assign registers_in.TABLE_HIGH.data.next  = seen_answer[39:32];
    assign registers_in.TABLE_HIGH.valid.next = seen_valid;

    assign {registers_in.CYCLES.HIGH.value.next,     registers_in.CYCLES.LOW.value.next}     = counts[0*64 +: 64];
    assign {registers_in.BYTES.HIGH.value.next,      registers_in.BYTES.LOW.value.next}      = counts[1*64 +: 64];
    assign {registers_in.IDS.HIGH.value.next,        registers_in.IDS.LOW.value.next}        = counts[2*64 +: 64];
    assign {registers_in.PIECES.HIGH.value.next,     registers_in.PIECES.LOW.value.next}     = counts[3*64 +: 64];
    assign {registers_in.RAW_BYTES.HIGH.value.next,  registers_in.RAW_BYTES.LOW.value.next}  = counts[4*64 +: 64];
    assign {registers_in.BAD_BYTES.HIGH.value.next,  registers_in.BAD_BYTES.LOW.value.next}  = counts[5*64 +: 64];
    assign {registers_in.LOOKUPS.HIGH.value.next,    registers_in.LOOKUPS.LOW.value.next}    = counts[6*64 +: 64];
    assign {registers_in.STALLS_IN.HIGH.value.next,  registers_in.STALLS_IN.LOW.value.next}  = counts[7*64 +: 64];
    assign {registers_in.STALLS_OUT.HIGH.value.next, registers_in.STALLS_OUT.LOW.value.next} = counts[8*64 +: 64];

    // The bus.
    wire        ask, ask_write, read_done, read_error, write_done, write_error;
    wire [7:0]  ask_address;
    wire [31:0] ask_data, ask_bits, read_data;
    /* verilator lint_off UNUSEDSIGNAL */
    wire [1:0]  stalls;            // Never, for there is one access at a time.
    /* verilator lint_on UNUSEDSIGNAL */

    assign control_axil_bresp[0] = 1'b0;
    assign control_axil_rresp[0] = 1'b0;

    bus control_bus (
        .clk, .rst,
        .aw_valid(control_axil_awvalid), .aw_ready(control_axil_awready), .aw_data(control_axil_awaddr),
        .w_valid(control_axil_wvalid), .w_ready(control_axil_wready),
        .w_data(control_axil_wdata), .w_bytes(control_axil_wstrb),
        .b_valid(control_axil_bvalid), .b_ready(control_axil_bready), .b_error(control_axil_bresp[1]),
        .ar_valid(control_axil_arvalid), .ar_ready(control_axil_arready), .ar_data(control_axil_araddr),
        .r_valid(control_axil_rvalid), .r_ready(control_axil_rready),
        .r_data(control_axil_rdata), .r_error(control_axil_rresp[1]),
        .ask, .ask_write, .ask_address, .ask_data, .ask_bits,
        .answer(read_done || write_done), .answer_error(read_done ? read_error : write_error), .answer_data(read_data)
    );

    registers control_registers (
        .clk, .rst,
        .s_cpuif_req(ask), .s_cpuif_req_is_wr(ask_write), .s_cpuif_addr(ask_address),
        .s_cpuif_wr_data(ask_data), .s_cpuif_wr_biten(ask_bits),
        .s_cpuif_req_stall_wr(stalls[0]), .s_cpuif_req_stall_rd(stalls[1]),
        .s_cpuif_rd_ack(read_done), .s_cpuif_rd_err(read_error), .s_cpuif_rd_data(read_data),
        .s_cpuif_wr_ack(write_done), .s_cpuif_wr_err(write_error),
        .hwif_in(registers_in), .hwif_out(registers_out)
    );

endmodule

`default_nettype wire
