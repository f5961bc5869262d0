// Puts what the units finish back into the order of the text.
//
//   units  -->  drain  -->  ring of ids  -->  words        one word per cycle, latency 3
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
    parameter int TICKET_BITS = 7,
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

    // The units that are done, and their next ids.
    input  wire  [ALL-1:0]         done,
    input  wire  [ALL*ID_BITS-1:0] out_id,
    input  wire  [ALL-1:0]         out_last,
    output wire  [ALL-1:0]         drain,
    output wire  [ALL-1:0]         released,

    output logic                   word_valid,
    input  wire                    word_ready,
    output logic [27:0]            word_data
);

    localparam int TICKETS  = 1 << TICKET_BITS;
    localparam int RING     = 1 << RING_BITS;
    localparam logic [2:0] BYTE = 1, CUT = 2;

    // Tickets that are open: from head to tail.
    logic [TICKET_BITS-1:0] head, tail;
    logic [TICKET_BITS:0]   tickets;
    logic [RING_BITS-1:0]   ring_tail;   // Where the next part's ids go.
    logic [RING_BITS:0]     ring_used;
    logic [TICKETS-1:0]     finished;
    logic [8:0]             opened [TICKETS];  // {raw, end, length}
    logic [6:0]             ids    [TICKETS];  // How many came of it, less one.

    // What the units work on.
    logic [TICKET_BITS-1:0] unit_ticket [ALL];
    logic [RING_BITS-1:0]   unit_start  [ALL];

    // Drain: one unit at a time, an id a cycle.
    logic                   draining;
    logic [UNIT_BITS-1:0]   drained;
    logic [6:0]             drained_ids;
    logic                   next_found;
    logic [UNIT_BITS-1:0]   next_unit;
    wire                    drain_end = draining && out_last[drained];
    wire [ALL-1:0][ID_BITS-1:0] unit_id = out_id;

    always_comb begin
        next_found = 1'b0;
        next_unit  = '0;
        for (int u = ALL - 1; u >= 0; u--) begin
            if (done[u] && !(draining && drained == UNIT_BITS'(u))) begin
                next_found = 1'b1;
                next_unit  = UNIT_BITS'(u);
            end
        end
    end

    generate
        for (genvar u = 0; u < ALL; u++) begin : unit
            assign drain[u]    = draining && drained == UNIT_BITS'(u);
            assign released[u] = drain_end && drained == UNIT_BITS'(u);
        end
    endgenerate

    // Collect: the words of the head, from the ring or from the raw words.
    wire        raw_there;
    wire [27:0] raw_next;
    wire        head_raw, head_end;
    wire [6:0]  head_length;
    assign {head_raw, head_end, head_length} = opened[head];

    logic [6:0]           collected;  // Of the head's ids.
    logic [RING_BITS-1:0] ring_head;
    logic                 read_valid, read_raw, read_end;
    logic [27:0]          read_word;
    wire  [ID_BITS-1:0]   ring_id;

    wire move_word = !word_valid || word_ready;
    wire move_read = !read_valid || move_word;
    wire ready     = tickets != '0 && (head_raw ? raw_there : finished[head]);
    wire collect   = ready && move_read;
    wire raw_more  = raw_next[26:24] == BYTE || raw_next[26:24] == CUT;
    wire retire    = collect && (head_raw ? !raw_more : collected == ids[head]);
    wire [RING_BITS:0] freed = retire && !head_raw ? (RING_BITS+1)'(head_length) : '0;
    wire [RING_BITS:0] taken = open_now && !open_raw ? (RING_BITS+1)'(open_length) : '0;

    memory #(.WIDTH(ID_BITS), .DEPTH_LOG(RING_BITS)) ring (
        .clk,
        .write(draining), .write_address(unit_start[drained] + RING_BITS'(drained_ids)),
        .write_data(unit_id[drained]),
        .read(collect && !head_raw), .read_address(ring_head + RING_BITS'(collected)),
        .read_data(ring_id)
    );

    wire [9:0] raw_level;
    fifo #(.WIDTH(28), .DEPTH_LOG(9)) raw_words (
        .clk, .rst,
        .in_valid(raw_now), .in_ready(raw_room), .in_data(raw_word),
        .out_valid(raw_there), .out_ready(collect && head_raw), .out_data(raw_next),
        .level(raw_level)
    );

    assign idle = tickets == '0 && raw_level == '0 && !read_valid && !word_valid && !draining;

    always_ff @(posedge clk) begin
        // Open.
        if (open_now) begin
            opened[tail] <= {open_raw, open_end, open_length};
            tail         <= tail + TICKET_BITS'(1);
            ring_tail    <= ring_tail + taken[RING_BITS-1:0];
            if (!open_raw) begin
                unit_ticket[open_unit] <= tail;
                unit_start[open_unit]  <= ring_tail;
            end
        end
        tickets    <= tickets + (TICKET_BITS+1)'(open_now) - (TICKET_BITS+1)'(retire);
        ring_used  <= ring_used + taken - freed;
        // Room for the part that may be opened in this very cycle, and for one more.
        open_room <= tickets < (TICKET_BITS+1)'(TICKETS - 2)
            && ring_used <= (RING_BITS+1)'(RING - 3 * PART_MAX);

        // Drain.
        if (!draining || drain_end) begin
            draining    <= next_found;
            drained     <= next_unit;
            drained_ids <= '0;
        end else begin
            drained_ids <= drained_ids + 7'd1;
        end
        if (drain_end) begin
            finished[unit_ticket[drained]] <= 1'b1;
            ids[unit_ticket[drained]]      <= drained_ids;
        end

        // Collect.
        if (collect) begin
            collected <= retire || head_raw ? '0 : collected + 7'd1;
            if (retire) begin
                head           <= head + TICKET_BITS'(1);
                ring_head      <= ring_head + freed[RING_BITS-1:0];
                finished[head] <= 1'b0;
            end
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
            head       <= '0;
            tail       <= '0;
            tickets    <= '0;
            ring_head  <= '0;
            ring_tail  <= '0;
            ring_used  <= '0;
            open_room <= 1'b0;
            finished   <= '0;
            draining   <= 1'b0;
            collected  <= '0;
            read_valid <= 1'b0;
            word_valid <= 1'b0;
        end
    end

endmodule

`default_nettype wire
