// The reorder buffer: puts the ids of the merge units back into the order of the text.
//
//   units     --> drain --> ring of ids --+--> words        one word per cycle, latency 6
//   raw words ----------------------------+
//
// A ticket is an entry of the buffer. Each part and each raw stretch has one; tickets are opened in
// the order of the text, and their words leave in that order. A part has at most as many ids as
// bytes, so the ring reserves that many places when the ticket is opened.
//
// For example, the parts "the" (unit 0) and " the" (unit 1) have tickets 0 and 1 and reserve places
// 0 to 2 and 3 to 6 of the ring. Unit 1 may finish first: its id 259 waits at place 3 until the id
// 258 has left from place 0.
//
//   opened[ticket]  |  8  |  7   | 6 .. 0 |
//                   | raw | last | length |
//
// Invariant: words leave ticket by ticket, all ids of each, `last` on the text's last word only.
// Proof: tests/rtl/formal/reorder.sby, by induction. Test: tests/rtl/test_reorder.py.
// Specification: the order of `ids` in `encode` of python/zeton/reference.py.

`default_nettype none

module reorder
    import zeton_pkg::*;
#(
    parameter int ID_BITS     = 17,
    parameter int ALL         = 16,  // Units.
    parameter int PART_MAX    = 32,  // Bytes of the longest part that has a unit.
    parameter int TICKET_BITS = 6,
    parameter int RING_BITS   = 9,
    localparam int UNIT_BITS  = ALL > 1 ? $clog2(ALL) : 1
) (
    input  wire                    clk,
    input  wire                    rst,
    output wire                    idle,

    // Tickets and raw words, in the order of the text. A push comes only while ready.
    input  wire                    ticket_push,
    output logic                   ticket_ready,
    input  wire                    ticket_raw,
    input  wire                    ticket_last,    // The text ends with this part.
    input  wire  [6:0]             ticket_length,  // Bytes of the part.
    input  wire  [UNIT_BITS-1:0]   ticket_unit,
    input  wire                    raw_push,
    output wire                    raw_ready,
    input  wire  word_t            raw_word,

    // The units that are done, their next ids, and whether one or two ids are left.
    input  wire  [ALL-1:0]         done,
    input  wire  [ALL*ID_BITS-1:0] out_id,
    input  wire  [ALL-1:0]         out_last,
    input  wire  [ALL-1:0]         out_two,
    output wire  [ALL-1:0]         drain,
    output wire  [ALL-1:0]         released,

    output logic                   word_valid,
    input  wire                    word_ready,
    output word_t                  word_data
);

    localparam int TICKETS  = 1 << TICKET_BITS;
    localparam int RING     = 1 << RING_BITS;

    // The open tickets; `tail` is the next one.
    logic [TICKET_BITS-1:0] tail;
    logic [TICKET_BITS:0]   ticket_count;
    logic [RING_BITS-1:0]   ring_tail;   // Where the next part's ids go.
    logic [RING_BITS:0]     ring_used;
    logic [TICKETS-1:0]     finished;
    (* ram_style = "distributed" *) logic [8:0] opened    [TICKETS];  // {raw, last, length}
    (* ram_style = "distributed" *) logic [6:0] ids_less_1 [TICKETS];
    logic [RING_BITS:0]     ring_reserved, ring_freed;   // In the last cycle.

    // The ticket of each unit, and where its ids go.
    logic [TICKET_BITS-1:0] unit_ticket [ALL];
    logic [RING_BITS-1:0]   unit_start  [ALL];

    // Drain: one unit at a time, an id a cycle. The next unit is chosen ahead. An id is in the ring
    // a cycle after its drain.
    logic                   drain_valid, next_valid;
    logic                   drain_end;        // This id is the unit's last; known a cycle ahead.
    logic [UNIT_BITS-1:0]   drain_unit, next_unit;
    logic [ALL-1:0]         drain_one_hot, next_one_hot;
    logic [6:0]             drain_count;
    logic                   write_valid, write_last;
    logic [RING_BITS-1:0]   write_place;
    logic [ID_BITS-1:0]     write_id;
    logic [TICKET_BITS-1:0] write_ticket;
    logic [6:0]             write_count;
    logic [ID_BITS-1:0]     drain_id;
    logic [UNIT_BITS-1:0]   pick_unit;

    assign drain    = drain_one_hot;
    assign released = drain_one_hot & {ALL{drain_end}};
    wire           drain_next = !drain_valid || drain_end;
    wire [ALL-1:0] candidates = done & ~drain_one_hot & ~next_one_hot;
    wire [ALL-1:0] pick       = candidates & ~(candidates - ALL'(1));

    always_comb begin
        drain_id  = '0;
        pick_unit = '0;
        for (int u = 0; u < ALL; u++) begin
            drain_id = drain_id | out_id[u*ID_BITS +: ID_BITS] & {ID_BITS{drain_one_hot[u]}};
            if (pick[u]) pick_unit = pick_unit | UNIT_BITS'(u);
        end
    end

    // Collect: the words of the head ticket, from the ring or from the raw words. Finished tickets
    // are fetched ahead: the head, and one or two after it.
    wire        raw_valid;
    wire word_t raw_head;
    logic [TICKET_BITS-1:0] fetch;                 // The first ticket that is not fetched.
    logic       head_valid, head_raw, head_last;
    wire        fetched_valid, fetched_raw, fetched_last, fetched_ready;
    logic [6:0] head_length, head_ids;         // `_ids`: the number of ids, less one.
    wire  [6:0] fetched_length, fetched_ids;
    wire        fetch_raw, fetch_last;
    wire  [6:0] fetch_length;
    assign {fetch_raw, fetch_last, fetch_length} = opened[fetch];

    logic [6:0]           collected;      // Ids of the head that have left.
    logic                 collect_last;
    logic [RING_BITS-1:0] ring_head;      // Where the head's ids are,
    logic [RING_BITS-1:0] ring_read;      // and the next of them.
    logic                 read_valid, read_raw, read_last;
    word_t                read_word;
    wire  [ID_BITS-1:0]   ring_id;

    wire word_free  = !word_valid || word_ready;
    wire read_free  = !read_valid || word_free;
    wire collect    = head_valid && (!head_raw || raw_valid) && read_free;
    wire raw_more   = raw_head.kind == WORD_BYTE || raw_head.kind == WORD_CUT;
    wire retire     = collect && (head_raw ? !raw_more : collect_last);
    wire head_free  = !head_valid || retire;
    wire fetch_valid = fetch != tail && (fetch_raw || finished[fetch]);
    wire fetch_now  = fetch_valid && fetched_ready;
    wire [RING_BITS-1:0] ring_next = ring_head + RING_BITS'(head_raw ? 7'd0 : head_length);

    skid #(.WIDTH(16)) ticket_skid (
        .clk, .rst,
        .in_valid(fetch_valid), .in_ready(fetched_ready),
        .in_data({fetch_raw, fetch_last, fetch_length, ids_less_1[fetch]}),
        .out_valid(fetched_valid), .out_ready(head_free),
        .out_data({fetched_raw, fetched_last, fetched_length, fetched_ids})
    );

    memory #(.WIDTH(ID_BITS), .DEPTH_LOG(RING_BITS)) ring (
        .clk,
        .write(write_valid), .write_address(write_place), .write_data(write_id),
        .read(collect && !head_raw), .read_address(ring_read),
        .read_data(ring_id)
    );

    wire [9:0] raw_occupancy;
    fifo #(.WIDTH(WORD_BITS), .DEPTH_LOG(9)) raw_words (
        .clk, .rst,
        .in_valid(raw_push), .in_ready(raw_ready), .in_data(raw_word),
        .out_valid(raw_valid), .out_ready(collect && head_raw), .out_data(raw_head),
        .occupancy(raw_occupancy)
    );

    assign idle = ticket_count == '0 && raw_occupancy == '0
        && !read_valid && !word_valid && !drain_valid && !write_valid;

    always_ff @(posedge clk) begin
        // Open.
        if (ticket_push) begin
            opened[tail] <= {ticket_raw, ticket_last, ticket_length};
            tail         <= tail + TICKET_BITS'(1);
            if (!ticket_raw) begin
                ring_tail                <= ring_tail + RING_BITS'(ticket_length);
                unit_ticket[ticket_unit] <= tail;
                unit_start[ticket_unit]  <= ring_tail;
            end
        end
        ring_reserved <= ticket_push && !ticket_raw ? (RING_BITS+1)'(ticket_length) : '0;
        ring_freed    <= retire && !head_raw ? (RING_BITS+1)'(head_length) : '0;
        ticket_count  <= ticket_count + (TICKET_BITS+1)'(ticket_push) - (TICKET_BITS+1)'(retire);
        ring_used     <= ring_used + ring_reserved - ring_freed;
        // Room for three parts: that of the last cycle, that of this cycle, and one more.
        ticket_ready <= ticket_count < (TICKET_BITS+1)'(TICKETS - 2)
            && ring_used <= (RING_BITS+1)'(RING - 3 * PART_MAX);

        // Drain.
        if (drain_next) begin
            drain_valid   <= next_valid;
            drain_unit    <= next_unit;
            drain_one_hot <= next_one_hot;
            drain_count   <= '0;
        end else begin
            drain_count <= drain_count + 7'd1;
        end
        drain_end <= (drain_next ? next_one_hot & out_last : drain_one_hot & out_two) != '0;
        if (drain_next || !next_valid) begin
            next_valid   <= candidates != '0;
            next_unit    <= pick_unit;
            next_one_hot <= pick;
        end
        write_valid  <= drain_valid;
        write_last   <= drain_end;
        write_place  <= unit_start[drain_unit] + RING_BITS'(drain_count);
        write_id     <= drain_id;
        write_ticket <= unit_ticket[drain_unit];
        write_count  <= drain_count;
        if (write_valid && write_last) begin
            finished[write_ticket]   <= 1'b1;
            ids_less_1[write_ticket] <= write_count;
        end

        // Fetch.
        if (fetch_now) begin
            fetch           <= fetch + TICKET_BITS'(1);
            finished[fetch] <= 1'b0;
        end
        if (head_free) begin
            head_valid  <= fetched_valid;
            head_raw    <= fetched_raw;
            head_last   <= fetched_last;
            head_length <= fetched_length;
            head_ids    <= fetched_ids;
        end

        // Collect.
        if (head_free) begin
            collected    <= '0;
            collect_last <= fetched_ids == '0;
            if (head_valid) begin
                ring_head <= ring_next;
                ring_read <= ring_next;
            end
        end else if (collect) begin
            collected    <= collected + 7'(!head_raw);
            collect_last <= collected + 7'd1 == head_ids;
            ring_read    <= ring_read + RING_BITS'(!head_raw);
        end
        if (read_free) begin
            read_valid <= collect;
            read_raw   <= head_raw;
            read_last  <= retire && head_last;
            read_word  <= raw_head;
        end
        if (word_free) begin
            word_valid <= read_valid;
            word_data  <= read_raw ? read_word : {read_last, WORD_ID, 24'(ring_id)};
        end

        if (rst) begin
            tail          <= '0;
            ticket_count  <= '0;
            ring_head     <= '0;
            ring_tail     <= '0;
            ring_read     <= '0;
            ring_used     <= '0;
            ring_reserved <= '0;
            ring_freed    <= '0;
            ticket_ready  <= 1'b0;
            finished      <= '0;
            drain_valid   <= 1'b0;
            drain_one_hot <= '0;
            drain_end     <= 1'b0;
            next_valid    <= 1'b0;
            next_one_hot  <= '0;
            write_valid   <= 1'b0;
            fetch         <= '0;
            head_valid    <= 1'b0;
            collected     <= '0;
            read_valid    <= 1'b0;
            word_valid    <= 1'b0;
        end
    end

endmodule

`default_nettype wire
