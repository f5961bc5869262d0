// The piece splitter: a finite-state transducer, a table of steps, that cuts text into pieces.
//
//   items --> step --> actions --> decided_skid --> cuts --> bytes    one byte per cycle, latency 5
//              ^__state                              \---> records    one per cycle
//
// A step may cut at mark 0, at mark 1 and before its character; then it may set mark 0 after its
// character and mark 1 before it. The end of a text is one more step. For example, "the the" with a
// pattern that lets a blank begin a word gives the bytes 74 68 65 20 74 68 65 and two records:
//
//   step at "t": nothing   at " ": cut here   {MERGE, 3}   at the end: cut here   {last, MERGE, 4}
//
// Of two cuts in a step, the second is deferred to a step without any; a third takes a cycle more.
// Stages 1 and 2 stall on the ready register of `decided_skid`, because the path from a mark to the
// address of the table limited the clock (docs/accelerator-fpga.md).
//
// Spilling: when half the bytes that fit behind this block wait for the end of their piece, a raw
// stretch begins. RAW records release bytes, CUT records give the ends of pieces in bytes from the
// stretch's first, and CLOSE at the next cut before a character ends the stretch. For example, with
// BYTES_LOG = 8 a text of 400 letters leaves as RAW records of 400 bytes, then {last, CLOSE}.
//
// Invariant: no piece is longer than the FIFO behind this block, and an offer stays until taken.
// Proof of the offers: tests/rtl/formal/split.sby. Test: tests/rtl/test_split.py. Specification:
// `split` in python/zeton/reference.py, `_records` of `Lane` in python/zeton/accel/reference.py,
// and `scan` in crates/zeton/src/split/family/scalar.rs. Table 2 is written while idle.

`default_nettype none

module split
    import zeton_pkg::*;
#(
    parameter int BYTES_LOG = 11   // 2^BYTES_LOG bytes fit behind this block, at least 2^7.
) (
    input  wire        clk,
    input  wire        rst,
    output wire        idle,

    // In: bytes, ends and marks, from `classify`.
    input  wire        item_valid,
    output wire        item_ready,
    input  wire item_t item_data,

    // Out: the bytes; `byte_cut`: a part of a piece may end after this byte.
    output logic       byte_valid,
    input  wire        byte_ready,
    output logic [7:0] byte_data,
    output logic       byte_cut,

    output logic       record_valid,
    input  wire        record_ready,
    output record_t    record_data,

    // Response latency: 4 cycles.
    /* verilator lint_off UNUSEDSIGNAL */  // The request is as wide as the widest table.
    input  wire table_request_t table_request,
    /* verilator lint_on UNUSEDSIGNAL */
    output table_entry_t table_response,

    output logic       count_piece
);

    localparam int SPILL_LOG = 6;    // A raw stretch releases 2^SPILL_LOG bytes per record.

    // ---- The step: the state is the table's last output, or 0 at the start of a text.
    //
    //   |     10     |     9      |    8     |      7     |      6     |   5 .. 0   |
    //   | set mark 1 | set mark 0 | cut here | cut mark 1 | cut mark 0 | next state |

    logic        access_write, access_read;
    logic [1:0]  read_shift;
    logic [10:0] access_address, access_data, entry;
    logic        text_start;         // No step yet in this text.
    wire [10:0]  step_entry;
    wire [5:0]   state = access_read ? access_address[10:5] : step_entry[5:0] & ~{6{text_start}};
    wire [4:0]   step_class = access_read ? access_address[4:0] : item_data.char_class;

    wire step_ready;                 // Stages 1 and 2 move: the skid is ready.
    assign item_ready = step_ready;
    wire step_valid = item_valid && (item_data.first || item_data.kind == ITEM_END && !text_start);

    memory #(.WIDTH(11), .DEPTH_LOG(11)) table_of_steps (
        .clk(clk),
        .write(access_write), .write_address(access_address), .write_data(access_data),
        .read(access_read || step_ready && step_valid), .read_address({state, step_class}), .read_data(step_entry)
    );

    always_ff @(posedge clk) begin
        access_write   <= table_request.write && table_request.select == TABLE_SPLIT;
        access_read    <= table_request.read && table_request.select == TABLE_SPLIT;
        access_address <= table_request.address[10:0];
        access_data    <= table_request.data[10:0];
        read_shift     <= {read_shift[0], access_read};
        entry          <= step_entry;
        table_response <= read_shift[1] ? {29'd0, entry} : 40'd0;
        if (step_ready && item_valid) text_start <= item_data.kind != ITEM_BYTE;
        if (rst) text_start <= 1'b1;
    end

    // ---- Stage 1 holds the item while the table is read; stage 2 has its actions.

    typedef struct packed {
        item_kind_t kind;
        logic [1:0] more;
        logic [7:0] data;
        logic       byte_cut;
        logic [1:0] set_marks;   // Mark 1, mark 0.
        logic [2:0] cut_at;      // Here, mark 1, mark 0.
        logic [2:0] cut_count;   // Thermometer: three cuts, two or more, one or more.
    } decided_t;

    logic       valid_1, step_valid_1, cut_1;
    item_kind_t kind_1;
    logic [1:0] more_1;
    logic [7:0] byte_1;
    logic       valid_2, cut_2;
    item_kind_t kind_2;
    logic [1:0] more_2;
    logic [7:0] byte_2;
    logic [2:0] cut_at_2;
    logic [1:0] set_marks_2;

    always_ff @(posedge clk) begin
        if (step_ready) begin
            valid_1      <= item_valid;
            step_valid_1 <= step_valid;
            kind_1       <= item_data.kind;
            more_1       <= item_data.more;
            byte_1       <= item_data.data;
            cut_1        <= item_data.cut;
            valid_2      <= valid_1;
            kind_2       <= kind_1;
            more_2       <= more_1;
            byte_2       <= byte_1;
            cut_2        <= cut_1;
            set_marks_2  <= step_entry[10:9] & {2{step_valid_1}};
            // A text with bytes ends with a cut.
            cut_at_2     <= (step_entry[8:6] | {kind_1 == ITEM_END, 2'b00}) & {3{step_valid_1}};
        end
        if (rst) begin
            valid_1      <= 1'b0;
            step_valid_1 <= 1'b0;
            valid_2      <= 1'b0;
        end
    end

    // ---- The skid: a stall of stage 3 reaches stages 1 and 2 a cycle later.

    localparam int DECIDED_BITS = 2 + 2 + 8 + 1 + 2 + 3 + 3;
    wire           decided_valid;
    wire decided_t decided;
    wire           stage_3_ready;

    wire [2:0] cut_count_2 = {
        &cut_at_2, cut_at_2[2] && cut_at_2[1] || cut_at_2[2] && cut_at_2[0] || cut_at_2[1] && cut_at_2[0], |cut_at_2
    };

    skid #(.WIDTH(DECIDED_BITS)) decided_skid (
        .clk, .rst,
        .in_valid(valid_2), .in_ready(step_ready),
        .in_data({kind_2, more_2, byte_2, cut_2, set_marks_2, cut_at_2, cut_count_2}),
        .out_valid(decided_valid), .out_ready(stage_3_ready), .out_data(decided)
    );

    // ---- Stage 3: the actions become records.

    logic       valid_3, is_byte_3, cut_3;
    item_kind_t kind_3;
    logic [1:0] more_3;
    logic [7:0] byte_3;
    logic       cut_mark_0, cut_mark_1, cut_here, set_mark_0, set_mark_1;
    logic       three_cuts, two_cuts, one_cut;    // Cuts of the item without a record: at least.

    // Places count from the text's first byte.
    logic [23:0]         position;       // Of this item.
    logic [23:0]         piece_start;    // The last cut.
    logic [23:0]         spilled_to;     // The first byte that no record has released.
    logic [23:0]         mark_0, mark_1;
    logic                spill_due;      // Too many bytes since the last cut.
    logic                spilling;
    logic [SPILL_LOG:0]  spill_bytes;    // While spilling: bytes that no record has released,
    logic                has_spill;      // and whether there are any.

    logic                deferred_valid; // A cut of an item that has left has no record yet.
    logic [23:0]         deferred_place;

    // One record a cycle; while spilling, first a RAW record of the bytes before the item. The item
    // leaves with its last record, or defers that one. A byte without a record passes meanwhile.
    wire release_raw = spilling ? (one_cut ? has_spill : spill_bytes[SPILL_LOG]) : spill_due && !one_cut;
    wire defer_cut   = two_cuts && !three_cuts && !spilling && is_byte_3;
    wire item_last   = deferred_valid ? !one_cut && is_byte_3 : release_raw ? !one_cut : !two_cuts || defer_cut;
    wire out_free    = (!record_valid || record_ready) && (!byte_valid || byte_ready);
    wire act         = valid_3 && out_free && !deferred_valid;
    wire item_done   = valid_3 && out_free && item_last;
    assign stage_3_ready = !valid_3 || out_free && item_last;

    wire [23:0] place = deferred_valid ? deferred_place : release_raw ? position
        : cut_mark_0 ? mark_0 : cut_mark_1 ? mark_1 : position;
    wire [BYTES_LOG:0] pending_bytes = position[BYTES_LOG:0] - spilled_to[BYTES_LOG:0];

    always_ff @(posedge clk) begin
        if (stage_3_ready) begin
            valid_3   <= decided_valid;
            kind_3    <= decided.kind;
            is_byte_3 <= decided.kind == ITEM_BYTE;
            more_3    <= decided.more;
            byte_3    <= decided.data;
            cut_3     <= decided.byte_cut;
            {set_mark_1, set_mark_0}           <= decided.set_marks;
            {cut_here, cut_mark_1, cut_mark_0} <= decided.cut_at;
            {three_cuts, two_cuts, one_cut}    <= decided.cut_count & {3{decided_valid}};
        end else if (act && !release_raw) begin
            cut_mark_0 <= 1'b0;
            if (!cut_mark_0) cut_mark_1 <= 1'b0;
            {three_cuts, two_cuts, one_cut} <= {1'b0, three_cuts, two_cuts};
        end

        if (out_free) deferred_valid <= act && defer_cut;
        if (act) begin
            deferred_place <= cut_here ? position : mark_1;
            if (release_raw) begin
                spilling    <= 1'b1;
                spilled_to  <= position;
                spill_bytes <= '0;
                has_spill   <= 1'b0;
            end else if (one_cut && (!spilling || !cut_mark_0 && !cut_mark_1)) begin
                spilling    <= 1'b0;
                piece_start <= place;
                spilled_to  <= place;
            end
        end else if (out_free && deferred_valid) begin
            piece_start <= place;
            spilled_to  <= place;
        end
        if (item_done) begin
            if (set_mark_0) mark_0 <= position + 24'(more_3) + 24'd1;
            if (set_mark_1) mark_1 <= position;
            if (is_byte_3) begin
                position    <= position + 24'd1;
                spill_bytes <= release_raw ? (SPILL_LOG + 1)'(1) : spill_bytes + 1'b1;
                has_spill   <= 1'b1;
            end else begin
                position    <= '0;
                piece_start <= '0;
                spilled_to  <= '0;
            end
        end
        spill_due <= !spilling && !one_cut && !deferred_valid
            && pending_bytes >= (BYTES_LOG + 1)'(2**(BYTES_LOG - 1));

        if (rst) begin
            valid_3        <= 1'b0;
            position       <= '0;
            piece_start    <= '0;
            spilled_to     <= '0;
            spill_due      <= 1'b0;
            deferred_valid <= 1'b0;
            spilling       <= 1'b0;
            {three_cuts, two_cuts, one_cut} <= 3'd0;
        end
    end

    // ---- Out. A byte is held back until the next item decides whether a cut follows it.

    logic       held_valid;
    logic [7:0] held_byte;

    always_ff @(posedge clk) begin
        count_piece <= out_free && deferred_valid || act && one_cut && !release_raw;
        if (out_free) begin
            record_valid        <= deferred_valid || valid_3 && (release_raw || one_cut || !is_byte_3);
            record_data.kind    <= deferred_valid ? RECORD_MERGE : release_raw ? RECORD_RAW
                : !one_cut ? (kind_3 == ITEM_MARK ? RECORD_MARK : RECORD_NOTHING)
                : !spilling ? RECORD_MERGE : cut_mark_0 || cut_mark_1 ? RECORD_CUT : RECORD_CLOSE;
            record_data.payload <= place - (release_raw ? spilled_to : piece_start);
            record_data.last    <= kind_3 == ITEM_END && item_last;
            byte_valid          <= item_done && held_valid;
            byte_data           <= held_byte;
            byte_cut            <= cut_3 && is_byte_3;
        end else begin
            if (record_ready) record_valid <= 1'b0;
            if (byte_ready)   byte_valid   <= 1'b0;
        end
        if (item_done) begin
            held_valid <= is_byte_3;
            held_byte  <= byte_3;
        end
        if (rst) begin
            count_piece  <= 1'b0;
            record_valid <= 1'b0;
            byte_valid   <= 1'b0;
            held_valid   <= 1'b0;
        end
    end

    assign idle = !valid_1 && !valid_2 && !decided_valid && !valid_3 && !deferred_valid
        && !held_valid && !record_valid && !byte_valid;

endmodule

`default_nettype wire
