// Puts what the units finish back into the order of the text.
//
//   units  -->  drain  -->  ring of ids  -->  words        one word per cycle, latency 6
//   raw words  ----------------------------/
//
// Each part and each raw stretch has a ticket; tickets are opened in the order of the text and their
// words leave in that order. A part's ids are at most its bytes, so a stretch of the ring as long as
// the part is set aside for them when its ticket is opened.

`default_nettype none

module reorder #(
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

    // Tickets, and raw words, in the order of the text; `now` comes only where there is `room`.
    input  wire                    open_now,
    output logic                   open_room,
    input  wire                    open_raw,
    input  wire                    open_end,     // The text ends with this part.
    input  wire  [6:0]             open_length,  // Bytes of the part.
    input  wire  [UNIT_BITS-1:0]   open_unit,
    input  wire                    raw_now,
    output wire                    raw_room,
    input  wire  [27:0]            raw_word,

    // The units that are done, and their next ids; how many are left, one or two.
    input  wire  [ALL-1:0]         done,
    input  wire  [ALL*ID_BITS-1:0] out_id,
    input  wire  [ALL-1:0]         out_last,
    input  wire  [ALL-1:0]         out_two,
    output wire  [ALL-1:0]         drain,
    output wire  [ALL-1:0]         released,

    output logic                   word_valid,
    input  wire                    word_ready,
    output logic [27:0]            word_data
);

    localparam int TICKETS  = 1 << TICKET_BITS;
    localparam int RING     = 1 << RING_BITS;
    localparam logic [2:0] BYTE = 1, CUT = 2;

    // Tickets that are open; the next one is the tail.
    logic [TICKET_BITS-1:0] tail;
    logic [TICKET_BITS:0]   tickets;
    logic [RING_BITS-1:0]   ring_tail;   // Where the next part's ids go.
    logic [RING_BITS:0]     ring_used;
    logic [TICKETS-1:0]     finished;
    (* ram_style = "distributed" *) logic [8:0] opened [TICKETS];  // {raw, end, length}
    (* ram_style = "distributed" *) logic [6:0] ids    [TICKETS];  // How many came of it, less one.
    logic [RING_BITS:0]     taken, freed;      // Of the ring, in the last cycle.

    // What the units work on.
    logic [TICKET_BITS-1:0] unit_ticket [ALL];
    logic [RING_BITS-1:0]   unit_start  [ALL];

    // Drain: one unit at a time, an id a cycle; the unit after it is chosen ahead. An id is in the ring a cycle later.
    logic                   draining, next_valid;
    logic                   drain_end;              // This id is the unit's last: known ahead, for units are far.
    logic [UNIT_BITS-1:0]   drained, next;
    logic [ALL-1:0]         drained_one, next_one;  // The same, a bit a unit.
    logic [6:0]             drained_ids;
    logic                   wrote, wrote_last;
    logic [RING_BITS-1:0]   wrote_place;
    logic [ID_BITS-1:0]     wrote_id;
    logic [TICKET_BITS-1:0] wrote_ticket;
    logic [6:0]             wrote_ids;
    logic [ID_BITS-1:0]     drained_id;
    logic [UNIT_BITS-1:0]   pick_unit;

    assign drain    = drained_one;
    assign released = drained_one & {ALL{drain_end}};
    wire             drain_next = !draining || drain_end;
    wire [ALL-1:0]   others     = done & ~drained_one & ~next_one;
    wire [ALL-1:0]   pick       = others & ~(others - ALL'(1));

    always_comb begin
        drained_id = '0;
        pick_unit  = '0;
        for (int u = 0; u < ALL; u++) begin
            drained_id = drained_id | out_id[u*ID_BITS +: ID_BITS] & {ID_BITS{drained_one[u]}};
            if (pick[u]) pick_unit = pick_unit | UNIT_BITS'(u);
        end
    end

    // Collect: the words of the head, from the ring or from the raw words. Tickets whose words are there are fetched
    // ahead: the head, and one or two after it.
    wire        raw_there;
    wire [27:0] raw_next;
    logic [TICKET_BITS-1:0] fetch;                 // The first ticket that is not fetched.
    logic       head_valid, head_raw, head_end;
    wire        then_valid, then_raw, then_end, then_room;
    logic [6:0] head_length, head_ids;
    wire  [6:0] then_length, then_ids;
    wire        fetch_raw, fetch_end;
    wire  [6:0] fetch_length;
    assign {fetch_raw, fetch_end, fetch_length} = opened[fetch];

    logic [6:0]           collected;  // Of the head's ids.
    logic                 collects_last;
    logic [RING_BITS-1:0] ring_head;  // Where the head's ids are,
    logic [RING_BITS-1:0] ring_read;  // and the next of them.
    logic                 read_valid, read_raw, read_end;
    logic [27:0]          read_word;
    wire  [ID_BITS-1:0]   ring_id;

    wire move_word = !word_valid || word_ready;
    wire move_read = !read_valid || move_word;
    wire collect   = head_valid && (!head_raw || raw_there) && move_read;
    wire raw_more  = raw_next[26:24] == BYTE || raw_next[26:24] == CUT;
    wire retire    = collect && (head_raw ? !raw_more : collects_last);
    wire move_head = !head_valid || retire;
    wire fetchable = fetch != tail && (fetch_raw || finished[fetch]);
    wire fetched   = fetchable && then_room;
    wire [RING_BITS-1:0] ring_next = ring_head + RING_BITS'(head_raw ? 7'd0 : head_length);

    skid #(.WIDTH(16)) fetched_tickets (
        .clk, .rst,
        .in_valid(fetchable), .in_ready(then_room), .in_data({fetch_raw, fetch_end, fetch_length, ids[fetch]}),
        .out_valid(then_valid), .out_ready(move_head), .out_data({then_raw, then_end, then_length, then_ids})
    );

    memory #(.WIDTH(ID_BITS), .DEPTH_LOG(RING_BITS)) ring (
        .clk,
        .write(wrote), .write_address(wrote_place), .write_data(wrote_id),
        .read(collect && !head_raw), .read_address(ring_read),
        .read_data(ring_id)
    );

    wire [9:0] raw_level;
    fifo #(.WIDTH(28), .DEPTH_LOG(9)) raw_words (
        .clk, .rst,
        .in_valid(raw_now), .in_ready(raw_room), .in_data(raw_word),
        .out_valid(raw_there), .out_ready(collect && head_raw), .out_data(raw_next),
        .level(raw_level)
    );

    assign idle = tickets == '0 && raw_level == '0 && !read_valid && !word_valid && !draining && !wrote;

    always_ff @(posedge clk) begin
        // Open.
        if (open_now) begin
            opened[tail] <= {open_raw, open_end, open_length};
            tail         <= tail + TICKET_BITS'(1);
            if (!open_raw) begin
                ring_tail              <= ring_tail + RING_BITS'(open_length);
                unit_ticket[open_unit] <= tail;
                unit_start[open_unit]  <= ring_tail;
            end
        end
        taken     <= open_now && !open_raw ? (RING_BITS+1)'(open_length) : '0;
        freed     <= retire && !head_raw ? (RING_BITS+1)'(head_length) : '0;
        tickets   <= tickets + (TICKET_BITS+1)'(open_now) - (TICKET_BITS+1)'(retire);
        ring_used <= ring_used + taken - freed;
        // Room for the part that was opened in the last cycle, for that of this very cycle, and for one more.
        open_room <= tickets < (TICKET_BITS+1)'(TICKETS - 2)
            && ring_used <= (RING_BITS+1)'(RING - 3 * PART_MAX);

        // Drain.
        if (drain_next) begin
            draining    <= next_valid;
            drained     <= next;
            drained_one <= next_one;
            drained_ids <= '0;
        end else begin
            drained_ids <= drained_ids + 7'd1;
        end
        drain_end <= (drain_next ? next_one & out_last : drained_one & out_two) != '0;
        if (drain_next || !next_valid) begin
            next_valid <= others != '0;
            next       <= pick_unit;
            next_one   <= pick;
        end
        wrote        <= draining;
        wrote_last   <= drain_end;
        wrote_place  <= unit_start[drained] + RING_BITS'(drained_ids);
        wrote_id     <= drained_id;
        wrote_ticket <= unit_ticket[drained];
        wrote_ids    <= drained_ids;
        if (wrote && wrote_last) begin
            finished[wrote_ticket] <= 1'b1;
            ids[wrote_ticket]      <= wrote_ids;
        end

        // Fetch.
        if (fetched) begin
            fetch           <= fetch + TICKET_BITS'(1);
            finished[fetch] <= 1'b0;
        end
        if (move_head) begin
            head_valid  <= then_valid;
            head_raw    <= then_raw;
            head_end    <= then_end;
            head_length <= then_length;
            head_ids    <= then_ids;
        end

        // Collect.
        if (move_head) begin
            collected     <= '0;
            collects_last <= then_ids == '0;
            if (head_valid) begin
                ring_head <= ring_next;
                ring_read <= ring_next;
            end
        end else if (collect) begin
            collected     <= collected + 7'(!head_raw);
            collects_last <= collected + 7'd1 == head_ids;
            ring_read     <= ring_read + RING_BITS'(!head_raw);
        end
        if (move_read) begin
            read_valid <= collect;
            read_raw   <= head_raw;
            read_end   <= retire && head_end;
            read_word  <= raw_next;
        end
        if (move_word) begin
            word_valid <= read_valid;
            word_data  <= read_raw ? read_word : {read_end, 3'd0, 24'(ring_id)};
        end

        if (rst) begin
            tail       <= '0;
            tickets    <= '0;
            ring_head  <= '0;
            ring_tail  <= '0;
            ring_read  <= '0;
            ring_used  <= '0;
            taken      <= '0;
            freed      <= '0;
            open_room  <= 1'b0;
            finished   <= '0;
            draining   <= 1'b0;
            drained_one <= '0;
            drain_end  <= 1'b0;
            next_valid <= 1'b0;
            next_one   <= '0;
            wrote      <= 1'b0;
            fetch      <= '0;
            head_valid <= 1'b0;
            collected  <= '0;
            read_valid <= 1'b0;
            word_valid <= 1'b0;
        end
    end

endmodule

`default_nettype wire
