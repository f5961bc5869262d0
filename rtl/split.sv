// Cuts texts into pieces: a table of states and classes says at each character what ends where.
//
//   items  -->  step  -->  actions  -->  skid  -->  cuts  -->  bytes      one byte per cycle, latency 5
//                ^__state                               \-->  records    one per cycle
//
// `scan` in crates/zeton/src/split/scalar.rs: a piece ends at mark 0, at mark 1, before this character; then mark 0 is
// set after it, mark 1 before it. The end of a text is one more step. Of two cuts in a step, the second waits for a
// step without any; a third takes a cycle more. Steps go on until they are told that cuts wait, not while that is found.
//
// A record tells the length of a piece. When half the bytes that fit behind this block wait for the end of theirs, they
// spill: records give bytes away (OPEN), tell where pieces ended (CUT, from the first byte given), and at the next cut
// before a character that the stretch ends (CLOSE). So no piece is too long, and the bytes of records are always there.
// Table 2, written while idle.

`default_nettype none

module split #(
    parameter int BYTES_LOG = 11   // 2^BYTES_LOG bytes fit behind this block, at least 2^7.
) (
    input  wire         clk,
    input  wire         rst,
    output wire         idle,

    // In: bytes, ends and marks; see `classify`.
    input  wire         item_valid,
    output wire         item_ready,
    input  wire  [1:0]  item_kind,
    input  wire  [7:0]  item_byte,
    input  wire         item_first,
    input  wire  [1:0]  item_more,
    input  wire  [4:0]  item_class,
    input  wire         item_cut,

    // Out: the bytes; a part of a piece may end after one.
    output logic        byte_valid,
    input  wire         byte_ready,
    output logic [7:0]  byte_data,
    output logic        byte_cut,

    // Out: 0 PIECE (its length), 1 OPEN (so many bytes), 2 CUT (place), 3 CLOSE, 4 NOTHING (an empty text), 7 MARK.
    output logic        record_valid,
    input  wire         record_ready,
    output logic [2:0]  record_kind,
    output logic [23:0] record_payload,
    output logic        record_last,   // The text ends here.

    // Tables: strobes of one cycle. The answer is there 4 cycles after `table_read`, and zero at other times.
    input  wire         table_write,
    input  wire         table_read,
    input  wire  [3:0]  table_select,
    /* verilator lint_off UNUSEDSIGNAL */  // As wide as the widest table.
    input  wire  [19:0] table_address,
    input  wire  [39:0] table_data,
    /* verilator lint_on UNUSEDSIGNAL */
    output logic [39:0] table_answer,

    output logic        count_piece
);

    localparam logic [1:0] BYTE = 0, END = 1, MARK = 2;
    localparam logic [2:0] PIECE = 0, OPEN = 1, CUT = 2, CLOSE = 3, NOTHING = 4, MARKED = 7;
    localparam logic [3:0] SPLIT = 2;
    localparam int GIVEN_LOG = 6;    // While a piece is spilled, 2^GIVEN_LOG bytes are given at once.

    // ---- The step: the state is what the table gave last, or that of a text's start.

    logic        access_write, access_read;
    logic [1:0]  answering;
    logic [10:0] access_address, access_data, answer;
    logic        fresh;              // No step yet in this text.
    wire [10:0]  stepped;
    wire [5:0]   state = access_read ? access_address[10:5] : stepped[5:0] & ~{6{fresh}};
    wire [4:0]   class_now = access_read ? access_address[4:0] : item_class;

    wire steps_on;                   // Stages 1 and 2 move: the skid has room.
    assign item_ready = steps_on;
    wire steps = item_valid && (item_first || item_kind == END && !fresh);

    memory #(.WIDTH(11), .DEPTH_LOG(11)) table_of_steps (
        .clk(clk),
        .write(access_write), .write_address(access_address), .write_data(access_data),
        .read(access_read || steps_on && steps), .read_address({state, class_now}), .read_data(stepped)
    );

    always_ff @(posedge clk) begin
        access_write   <= table_write && table_select == SPLIT;
        access_read    <= table_read && table_select == SPLIT;
        access_address <= table_address[10:0];
        access_data    <= table_data[10:0];
        answering      <= {answering[0], access_read};
        answer         <= stepped;
        table_answer   <= answering[1] ? {29'd0, answer} : 40'd0;
        if (steps_on && item_valid) fresh <= item_kind != BYTE;
        if (rst) fresh <= 1'b1;
    end

    // ---- Stage 1 holds the item while the table is read; stage 2 has what is to be done.

    logic       valid_1, steps_1, cut_1;
    logic [1:0] kind_1, more_1;
    logic [7:0] byte_1;
    logic       valid_2, cut_2;
    logic [1:0] kind_2, more_2;
    logic [7:0] byte_2;
    logic [2:0] at_2;                // Cuts here, at mark 1, at mark 0,
    logic [1:0] set_2;               // and marks that are set: 1, 0.

    always_ff @(posedge clk) begin
        if (steps_on) begin
            valid_1 <= item_valid;
            steps_1 <= steps;
            kind_1  <= item_kind;
            more_1  <= item_more;
            byte_1  <= item_byte;
            cut_1   <= item_cut;
            valid_2 <= valid_1;
            kind_2  <= kind_1;
            more_2  <= more_1;
            byte_2  <= byte_1;
            cut_2   <= cut_1;
            set_2   <= stepped[10:9] & {2{steps_1}};
            // A text that is not empty ends with a cut.
            at_2    <= (stepped[8:6] | {kind_1 == END, 2'b00}) & {3{steps_1}};
        end
        if (rst) begin
            valid_1 <= 1'b0;
            steps_1 <= 1'b0;
            valid_2 <= 1'b0;
        end
    end

    // The skid: what is decided from here on is heard by stages 1 and 2 a cycle later.

    localparam int TOLD_BITS = 2 + 2 + 8 + 1 + 2 + 3 + 3;
    wire       next_valid, next_cut;
    wire [1:0] next_kind, next_more, next_set;
    wire [7:0] next_byte;
    wire [2:0] next_at, next_cuts;
    wire       moves;                // Stage 3.

    wire [2:0] cuts_2 = {&at_2, at_2[2] && at_2[1] || at_2[2] && at_2[0] || at_2[1] && at_2[0], |at_2};

    skid #(.WIDTH(TOLD_BITS)) told (
        .clk, .rst,
        .in_valid(valid_2), .in_ready(steps_on),
        .in_data({kind_2, more_2, byte_2, cut_2, set_2, at_2, cuts_2}),
        .out_valid(next_valid), .out_ready(moves),
        .out_data({next_kind, next_more, next_byte, next_cut, next_set, next_at, next_cuts})
    );

    // ---- Stage 3: what is to be done is done.

    logic       valid_3, is_byte_3, cut_3;
    logic [1:0] kind_3, more_3;
    logic [7:0] byte_3;
    logic       at_mark_0, at_mark_1, at_here, set_mark_0, set_mark_1;
    logic       three, two, cuts;    // How many of the cuts are to be told yet: so many or more.

    // Places count from the text's first byte: of this item, of the last cut, of the first byte not given away.
    logic [23:0]        here, start, given, mark_0, mark_1;
    logic               far;         // Too many bytes since the last cut.
    logic               spilling;
    logic [GIVEN_LOG:0] kept;        // While spilling: bytes not given away,
    logic               some;        // and whether there are any.

    logic               later;       // A cut of an item that has left is still to be told.
    logic [23:0]        later_place;

    // One record at a time, first the bytes up to here if they spill. The item leaves with its last record, or leaves
    // that for later; what has no record itself may pass meanwhile.
    wire opens  = spilling ? (cuts ? some : kept[GIVEN_LOG]) : far && !cuts;
    wire defers = two && !three && !spilling && is_byte_3;
    wire only   = later ? !cuts && is_byte_3 : opens ? !cuts : !two || defers;
    wire free   = (!record_valid || record_ready) && (!byte_valid || byte_ready);
    wire acts   = valid_3 && free && !later;
    wire leaves = valid_3 && free && only;
    assign moves = !valid_3 || free && only;

    wire [23:0] place = later ? later_place : opens ? here : at_mark_0 ? mark_0 : at_mark_1 ? mark_1 : here;
    wire [BYTES_LOG:0] waiting = here[BYTES_LOG:0] - given[BYTES_LOG:0];

    always_ff @(posedge clk) begin
        if (moves) begin
            valid_3   <= next_valid;
            kind_3    <= next_kind;
            is_byte_3 <= next_kind == BYTE;
            more_3    <= next_more;
            byte_3    <= next_byte;
            cut_3     <= next_cut;
            {set_mark_1, set_mark_0}        <= next_set;
            {at_here, at_mark_1, at_mark_0} <= next_at;
            {three, two, cuts}              <= next_cuts & {3{next_valid}};
        end else if (acts && !opens) begin
            at_mark_0 <= 1'b0;
            if (!at_mark_0) at_mark_1 <= 1'b0;
            {three, two, cuts} <= {1'b0, three, two};
        end

        if (free) later <= acts && defers;
        if (acts) begin
            later_place <= at_here ? here : mark_1;
            if (opens) begin
                spilling <= 1'b1;
                given    <= here;
                kept     <= '0;
                some     <= 1'b0;
            end else if (cuts && (!spilling || !at_mark_0 && !at_mark_1)) begin
                spilling <= 1'b0;
                start    <= place;
                given    <= place;
            end
        end else if (free && later) begin
            start <= place;
            given <= place;
        end
        if (leaves) begin
            if (set_mark_0) mark_0 <= here + 24'(more_3) + 24'd1;
            if (set_mark_1) mark_1 <= here;
            if (is_byte_3) begin
                here <= here + 24'd1;
                kept <= opens ? (GIVEN_LOG + 1)'(1) : kept + 1'b1;
                some <= 1'b1;
            end else begin
                here  <= '0;
                start <= '0;
                given <= '0;
            end
        end
        far <= !spilling && !cuts && !later && waiting >= (BYTES_LOG + 1)'(2**(BYTES_LOG - 1));

        if (rst) begin
            valid_3  <= 1'b0;
            here     <= '0;
            start    <= '0;
            given    <= '0;
            far      <= 1'b0;
            later    <= 1'b0;
            spilling <= 1'b0;
            {three, two, cuts} <= 3'd0;
        end
    end

    // ---- Out. A byte is held until the next item says whether a cut follows.

    logic       held;
    logic [7:0] held_byte;

    always_ff @(posedge clk) begin
        count_piece <= free && later || acts && cuts && !opens;
        if (free) begin
            record_valid   <= later || valid_3 && (opens || cuts || !is_byte_3);
            record_kind    <= later ? PIECE : opens ? OPEN : !cuts ? (kind_3 == MARK ? MARKED : NOTHING)
                : !spilling ? PIECE : at_mark_0 || at_mark_1 ? CUT : CLOSE;
            record_payload <= place - (opens ? given : start);
            record_last    <= kind_3 == END && only;
            byte_valid     <= leaves && held;
            byte_data      <= held_byte;
            byte_cut       <= cut_3 && is_byte_3;
        end else begin
            if (record_ready) record_valid <= 1'b0;
            if (byte_ready)   byte_valid   <= 1'b0;
        end
        if (leaves) begin
            held      <= is_byte_3;
            held_byte <= byte_3;
        end
        if (rst) begin
            count_piece  <= 1'b0;
            record_valid <= 1'b0;
            byte_valid   <= 1'b0;
            held         <= 1'b0;
        end
    end

    assign idle = !valid_1 && !valid_2 && !next_valid && !valid_3 && !later && !held && !record_valid && !byte_valid;

endmodule

`default_nettype wire
