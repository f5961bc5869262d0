// The accelerator: lanes behind one text stream, one word stream and an AXI4-Lite register block.
//
//   text_axis  --+-->  frames  -->  lanes  -->  gather  -->  word_axis
//                +-->  loader  -->  tables of all lanes
//   control_axil  -->  bus  -->  registers                   one byte per cycle and lane
//
// For example, with one lane: the packet F7000000_00010004, 00000000_65687420 (the text " the") on
// text_axis gives 08000103 (the id 259, last of its text) and 07000000 (end of batch 0) on
// word_axis.
//
// CONTROL.reset resets everything but the tables and the host's registers; until it is done, the
// text stream is taken and dropped. A load or table read is granted only while the card is idle.
//
// Invariant: the ids are those of the software, and every batch ends with one BATCH word.
// Specification: `ReferenceTransport` in python/zeton/accel/reference.py. Tests:
// tests/rtl/test_top.py (all but the lane), tests/rtl/test_top_reset.py, tests/accelerator. The
// formats of both streams: zeton_pkg.sv and docs/accelerator.md; the registers:
// docs/accelerator-registers.md.

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

    import zeton_pkg::*;

    localparam int RESET_CYCLES = 16;                     // Also in fpga/card/card.v.
    localparam int QUIET_CYCLES = 4;                      // Lanes idle for so long are idle.
    localparam int COUNTERS     = 9;
    localparam int STEP_BITS    = $clog2(2 * LANES + 1);  // A lane has up to two lookups a cycle.

    // The register block has registers on all sides: its outputs and inputs are a cycle old.
    registers_pkg::registers__in_t  registers_in;
    registers_pkg::registers__out_t registers_out;
    logic        control_reset, control_load, control_snapshot;
    logic [7:0]  read_lane;
    logic [3:0]  read_select;
    logic [19:0] read_address;

    always_ff @(posedge clk) begin
        control_reset    <= registers_out.CONTROL.reset.value && !rst;
        control_load     <= registers_out.CONTROL.load.value && !rst;
        control_snapshot <= registers_out.SNAPSHOT.take.value && !rst;
        read_lane        <= registers_out.TABLE_LANE.index.value;
        read_select      <= registers_out.TABLE_SELECT.kind.value;
        read_address     <= registers_out.TABLE_ADDRESS.entry.value;
    end

    // CONTROL.reset, for RESET_CYCLES.
    logic [$clog2(RESET_CYCLES):0] reset_left;
    wire  reset_active = reset_left != '0;
    logic reset;       // A register, because its wires are long.
    logic lane_reset;  // In lanes, a cycle later, and before any text.

    always_ff @(posedge clk) begin
        reset      <= rst || reset_active;
        lane_reset <= reset;
        if (control_reset)     reset_left <= ($clog2(RESET_CYCLES) + 1)'(RESET_CYCLES);
        else if (reset_active) reset_left <= reset_left - 1'b1;
        if (rst) reset_left <= '0;
    end

    // The text stream goes to `frames`, or to `loader`. It has two skids, at the pins and behind
    // them; the word stream has one.
    wire        load = control_load;
    wire        text_skid_ready, frames_ready, loader_ready;
    wire        pin_valid, pin_ready, pin_last;
    wire [63:0] pin_data;
    wire        in_valid, in_last;
    wire [63:0] in_data;
    wire        out_valid, out_ready, out_last;
    wire [31:0] out_data;

    skid #(.WIDTH(65)) text_skid (
        .clk, .rst(reset),
        .in_valid(text_axis_tvalid), .in_ready(text_skid_ready), .in_data({text_axis_tlast, text_axis_tdata}),
        .out_valid(pin_valid), .out_ready(pin_ready), .out_data({pin_last, pin_data})
    );
    skid #(.WIDTH(65)) text_input_skid (
        .clk, .rst(reset),
        .in_valid(pin_valid), .in_ready(pin_ready), .in_data({pin_last, pin_data}),
        .out_valid(in_valid), .out_ready(load ? loader_ready : frames_ready), .out_data({in_last, in_data})
    );
    assign text_axis_tready = reset_active || text_skid_ready;

    skid #(.WIDTH(33)) word_skid (
        .clk, .rst(reset),
        .in_valid(out_valid), .in_ready(out_ready), .in_data({out_last, out_data}),
        .out_valid(word_axis_tvalid), .out_ready(word_axis_tready), .out_data({word_axis_tlast, word_axis_tdata})
    );

    // Text to lanes.
    wire [LANES-1:0]        text_valid, text_ready;
    wire text_t [LANES-1:0] text_data;
    wire [LANES-1:0]        word_valid, word_ready, lane_idle;
    wire word_t [LANES-1:0] word_data;
    wire                    frames_idle, gather_idle, loader_idle, bad_frame;

    frames #(.LANES(LANES), .DEPTH_LOG(FRAMES_LOG)) text_frames (
        .clk, .rst(reset), .idle(frames_idle), .bad_frame,
        .in_valid(in_valid && !load), .in_ready(frames_ready), .in_data, .in_last,
        .text_valid, .text_ready, .text_data
    );

    // Lanes.
    table_request_t    table_request;
    wire [LANES-1:0]   lane_read;
    table_entry_t      lane_response [LANES];
    table_entry_t      table_response;

    wire [LANES-1:0]   count_byte, count_piece, count_bad, count_id, count_raw;
    wire [2*LANES-1:0] count_lookup;

    generate
        for (genvar l = 0; l < LANES; l++) begin : lanes
            // Requests to a lane's tables, and responses, have a cycle for the way.
            table_request_t    lane_request;
            wire table_entry_t lane_entry;

            always_ff @(posedge clk) begin
                lane_request       <= table_request;
                lane_request.write <= table_request.write && !reset;
                lane_request.read  <= lane_read[l] && !reset;
                lane_response[l]   <= reset ? '0 : lane_entry;
            end

            lane #(
                .ID_BITS(ID_BITS), .BANK_BITS(BANK_BITS), .UNITS(UNITS), .SLOTS(SLOTS),
                .WIDE_UNITS(WIDE_UNITS), .WIDE_SLOTS(WIDE_SLOTS), .BRIDGE_BITS(BRIDGE_BITS), .BYTES_LOG(BYTES_LOG)
            ) text_lane (
                .clk, .rst(lane_reset), .idle(lane_idle[l]),
                .text_valid(text_valid[l]), .text_ready(text_ready[l]), .text_data(text_data[l]),
                .word_valid(word_valid[l]), .word_ready(word_ready[l]), .word_data(word_data[l]),
                .table_request(lane_request), .table_response(lane_entry),
                .count_byte(count_byte[l]), .count_piece(count_piece[l]), .count_bad(count_bad[l]),
                .count_id(count_id[l]), .count_raw(count_raw[l]), .count_lookup(count_lookup[2*l +: 2])
            );
        end
    endgenerate

    always_comb begin
        table_response = '0;
        for (int l = 0; l < LANES; l++) table_response = table_response | lane_response[l];
    end

    // Lanes to words.
    gather #(.LANES(LANES)) word_gather (
        .clk, .rst(reset), .idle(gather_idle),
        .word_valid, .word_ready, .word_data,
        .out_valid, .out_ready, .out_data, .out_last
    );

    // The card is idle. An item between two blocks belongs to neither for a cycle, so lanes have to
    // be idle for QUIET_CYCLES.
    logic [QUIET_CYCLES-1:0] idle_history;
    logic streams_idle;  // In the last cycle. A newer word is still at the pins.

    always_ff @(posedge clk) begin
        streams_idle <= !pin_valid && !in_valid && frames_idle && (&idle_history) && gather_idle && !word_axis_tvalid && !reset_active;
        idle_history <= {idle_history[QUIET_CYCLES-2:0], frames_idle && (&lane_idle)};
        if (reset) begin
            streams_idle <= 1'b0;
            idle_history <= '0;
        end
    end

    // Tables.
    wire               refused, load_clear, load_start, loading, entry_valid;
    wire table_entry_t entry;
    logic              address_written, read_start;  // A read starts when its address has arrived.

    always_ff @(posedge clk) begin
        address_written <= registers_out.TABLE_ADDRESS.entry.swmod && !rst;
        read_start      <= address_written && !rst;
    end

    loader #(.LANES(LANES)) table_loader (
        .clk, .rst(reset), .idle(loader_idle), .streams_idle, .refused,
        .load, .load_clear, .load_start, .loading,
        .in_valid, .in_ready(loader_ready), .in_data, .in_last,
        .read_start, .read_lane, .read_select, .read_address,
        .read_valid(entry_valid), .read_entry(entry),
        .table_request, .lane_read, .table_response
    );

    // Counters, in the order of the registers.
    logic [COUNTERS*STEP_BITS-1:0] increments;
    wire  [COUNTERS*64-1:0]        counts;

    function automatic [STEP_BITS-1:0] popcount(input [LANES-1:0] bits);
        popcount = '0;
        for (int l = 0; l < LANES; l++) popcount = popcount + STEP_BITS'(bits[l]);
    endfunction

    logic [STEP_BITS-1:0] lookups;

    always_comb begin
        lookups = '0;
        for (int l = 0; l < LANES; l++) lookups = lookups + STEP_BITS'(count_lookup[2*l +: 2]);
    end

    always_ff @(posedge clk) begin
        increments <= {
            STEP_BITS'(word_axis_tvalid && !word_axis_tready),
            STEP_BITS'(text_axis_tvalid && !text_axis_tready),
            lookups,
            popcount(count_bad),
            popcount(count_raw),
            popcount(count_piece),
            popcount(count_id),
            popcount(count_byte),
            STEP_BITS'(1'b1)
        };
        if (reset) increments <= '0;
    end

    counters #(.COUNTERS(COUNTERS), .STEP_BITS(STEP_BITS)) all_counters (
        .clk, .rst(reset), .increments, .snapshot(control_snapshot), .snapshot_counts(counts)
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

    logic         status_load_clear, status_load_start, status_idle, status_loading;
    logic         status_frame, status_busy, status_clear, status_read_valid;
    table_entry_t status_entry;

    always_ff @(posedge clk) begin
        status_load_clear <= load_clear;
        status_idle       <= streams_idle && loader_idle && !control_reset && !reset_active;
        status_loading    <= load || loading;
        status_frame      <= bad_frame && !reset_active;
        status_busy       <= refused && !reset_active;
        status_clear      <= reset_active;
        status_load_start <= load_start;
        status_read_valid <= entry_valid;
        status_entry      <= entry;
    end

    assign registers_in.CONTROL.load.hwclr    = status_load_clear;
    assign registers_in.STATUS.idle.next      = status_idle;
    assign registers_in.STATUS.loading.next   = status_loading;
    assign registers_in.STATUS.frame.hwset    = status_frame;
    assign registers_in.STATUS.frame.hwclr    = status_clear;
    assign registers_in.STATUS.busy.hwset     = status_busy;
    assign registers_in.STATUS.busy.hwclr     = status_clear;
    assign registers_in.IMAGE_0.digest.hwclr  = status_load_start;
    assign registers_in.IMAGE_1.digest.hwclr  = status_load_start;
    assign registers_in.TABLE_LOW.data.next   = status_entry[31:0];
    assign registers_in.TABLE_HIGH.data.next  = status_entry[39:32];
    assign registers_in.TABLE_HIGH.valid.next = status_read_valid;

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
    wire        request_valid, request_write, read_done, read_error, write_done, write_error;
    wire [7:0]  request_address;
    wire [31:0] request_data, request_mask, read_data;
    /* verilator lint_off UNUSEDSIGNAL */
    wire [1:0]  stalls;  // Never, because one access is outstanding at a time.
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
        .request_valid, .request_write, .request_address, .request_data, .request_mask,
        .response_valid(read_done || write_done),
        .response_error(read_done ? read_error : write_error), .response_data(read_data)
    );

    registers control_registers (
        .clk, .rst,
        .s_cpuif_req(request_valid), .s_cpuif_req_is_wr(request_write), .s_cpuif_addr(request_address),
        .s_cpuif_wr_data(request_data), .s_cpuif_wr_biten(request_mask),
        .s_cpuif_req_stall_wr(stalls[0]), .s_cpuif_req_stall_rd(stalls[1]),
        .s_cpuif_rd_ack(read_done), .s_cpuif_rd_err(read_error), .s_cpuif_rd_data(read_data),
        .s_cpuif_wr_ack(write_done), .s_cpuif_wr_err(write_error),
        .hwif_in(registers_in), .hwif_out(registers_out)
    );

endmodule

`default_nettype wire
