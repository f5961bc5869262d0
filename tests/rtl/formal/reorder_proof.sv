// The environment of `reorder`: tickets are opened, units finish at any time, raw words are pushed;
// then words must leave ticket by ticket, each with all its ids in order and its end on the last.
//
// Every ticket has a number, and its ids and raw words carry it: an id is {last, place, number}.
// For example, the second and last id of ticket 3 is {1, 1, 011}.

`default_nettype none

module reorder_proof
    import zeton_pkg::*;
(
    input wire       clk,
    input wire       rst,
    // All free.
    input wire       ticket_push, ticket_raw,
    input wire [6:0] ticket_length,
    input wire       ticket_unit,
    input wire       raw_push, raw_more,
    input wire [1:0] raw_kind,
    input wire [1:0] finish,
    input wire [1:0] few,          // A unit has one id only, not as many as the part has bytes.
    input wire       word_ready
);

    localparam int NUMBER_BITS = 3;  // More numbers than tickets.
    localparam int ID_BITS     = 2 + NUMBER_BITS;
    localparam int PART_MAX    = 2;
    localparam int TICKETS     = 4;

    wire        ticket_ready, raw_ready, word_valid, idle;
    wire word_t word_data;
    wire [1:0]  drain, released;

    // Units: whether they hold a part, its remaining ids, and whether they are done.
    logic [1:0]             busy, done;
    logic [1:0]             second;                  // The next id is the part's second,
    logic [1:0]             two;                     // of two.
    logic [NUMBER_BITS-1:0] number [2];
    wire  [1:0]             out_last = ~two | second;
    wire  [1:0]             out_two  = two & ~second;
    wire  [2*ID_BITS-1:0]   out_id   = {
        out_last[1], second[1], number[1], out_last[0], second[0], number[0]
    };

    logic [NUMBER_BITS-1:0] opened;                  // The number of the next ticket.
    logic                   raw_open;                // A raw stretch is under way.
    wire  [NUMBER_BITS-1:0] raw_number = ticket_push ? opened : opened - 1'b1;
    // A byte or a cut, and at the end a close.
    wire  [2:0]             kind       = raw_more ? (raw_kind[0] ? 3'd1 : 3'd2) : raw_kind[0] ? 3'd3 : {1'b1, raw_kind};
    wire word_t             raw_word   = {!raw_more, kind, 24'(raw_number)};

    reorder #(.ID_BITS(ID_BITS), .ALL(2), .PART_MAX(PART_MAX), .TICKET_BITS(2), .RING_BITS(3)) dut (
        .clk, .rst, .idle,
        .ticket_push, .ticket_ready, .ticket_raw, .ticket_last(1'b1), .ticket_length, .ticket_unit,
        .raw_push, .raw_ready, .raw_word,
        .done, .out_id, .out_last, .out_two, .drain, .released,
        .word_valid, .word_ready, .word_data
    );

    logic [NUMBER_BITS-1:0] leaving;                 // The number of the ticket whose words leave,
    logic                   leaving_second;          // of which the first id has left,
    logic                   leaving_raw;             // or raw words and not the last.

    // A word is of that ticket, the next of its ids, and ends it only if it is its last.
    function automatic logic fits(input logic [27:0] word, input logic [NUMBER_BITS-1:0] due, input logic due_second);
        fits = word[NUMBER_BITS-1:0] == due && (word[26:24] == 0
            ? word[NUMBER_BITS] == due_second && word[NUMBER_BITS+1] == word[27]
            : !due_second && word[27] == (word[26:24] > 2));
    endfunction

    // ---- Invariants that induction needs. First, the number due after the words on their way out.
    wire  [27:0] read_word = dut.read_raw ? dut.read_word : {dut.read_last, 3'd0, 24'(dut.ring_id)};
    logic [NUMBER_BITS-1:0] due_1, due_2;
    logic                   second_1, second_2, raw_begun_1, raw_begun_2;
    always_comb begin
        due_1       = leaving + NUMBER_BITS'(word_valid && word_data[27]);
        second_1    = word_valid ? !word_data[27] && word_data[26:24] == 0 : leaving_second;
        raw_begun_1 = word_valid ? !word_data[27] && word_data[26:24] != 0 : leaving_raw;
        raw_begun_2 = dut.read_valid ? !read_word[27] && read_word[26:24] != 0 : raw_begun_1;
        due_2       = due_1 + NUMBER_BITS'(dut.read_valid && read_word[27]);
        second_2    = dut.read_valid ? !read_word[27] && read_word[26:24] == 0 : second_1;
    end

    // An id on its way into the ring counts as written, and so does the end of a ticket with it.
    function automatic logic [ID_BITS-1:0] in_ring(input logic [2:0] at);
        in_ring = dut.write_valid && dut.write_place == at ? dut.write_id : dut.ring.words[at];
    endfunction

    // Then the open tickets from the head on: the places of their ids, and their units. The first
    // are fetched.
    wire  [1:0] ahead = 2'(dut.head_valid) + 2'(dut.fetched_valid) + 2'(dut.ticket_skid.side_valid);
    wire  [1:0] head  = dut.fetch - ahead;
    logic [TICKETS-1:0] is_finished, is_fetched;
    logic [6:0] ids [TICKETS];
    logic [1:0] ticket [TICKETS];
    logic [1:0] place  [2];                          // Of the units' tickets.
    logic [2:0] start  [TICKETS];
    logic [2:0] raws   [TICKETS];                    // Raw ones before it.
    logic [3:0] used;
    logic [2:0] raws_open;
    logic [TICKETS-1:0] is_open, is_raw, is_held, is_ok;
    always_comb begin
        for (int u = 0; u < 2; u++) place[u] = dut.unit_ticket[u] - head;
        used      = '0;
        raws_open = '0;
        for (int i = 0; i < TICKETS; i++) begin
            ticket[i]  = head + 2'(i);
            is_fetched[i]  = i < ahead;
            is_finished[i] = dut.finished[ticket[i]] || is_fetched[i] && !dut.opened[ticket[i]][8];
            ids[i]         = dut.ids_less_1[ticket[i]];
            if (dut.write_valid && dut.write_last && dut.write_ticket == ticket[i]) begin
                is_finished[i] = 1'b1;
                ids[i]         = dut.write_count;
            end
            start[i]   = dut.ring_head + used[2:0];
            raws[i]    = raws_open;
            is_open[i] = i < dut.ticket_count;
            is_raw[i]  = dut.opened[ticket[i]][8];
            is_held[i] = 1'b0;
            for (int u = 0; u < 2; u++) begin
                if (busy[u] && dut.unit_ticket[u] == ticket[i]) begin
                    is_held[i] = dut.unit_start[u] == start[i] && number[u] == due_2 + NUMBER_BITS'(i)
                        && (!two[u] || dut.opened[ticket[i]][6:0] == 2)
                        && (!second[u] || in_ring(start[i]) == {2'b00, number[u]});
                end
            end
            is_ok[i] = dut.opened[ticket[i]][7];
            if (is_raw[i]) begin
                is_ok[i] = is_ok[i] && !is_finished[i];
            end else begin
                is_ok[i] = is_ok[i] && (dut.opened[ticket[i]][6:0] == 1 || dut.opened[ticket[i]][6:0] == 2);
                if (is_finished[i]) begin
                    is_ok[i] = is_ok[i] && ids[i] < dut.opened[ticket[i]][6:0]
                        && in_ring(start[i]) == {ids[i] == 0, 1'b0, due_2 + NUMBER_BITS'(i)}
                        && (ids[i] == 0 || in_ring(start[i] + 3'd1) == {2'b11, due_2 + NUMBER_BITS'(i)});
                end else begin
                    is_ok[i] = is_ok[i] && is_held[i];
                end
            end
            if (is_open[i] && is_raw[i]) raws_open = raws_open + 1'b1;
            if (is_open[i] && !is_raw[i]) used = used + dut.opened[ticket[i]][3:0];
        end
    end

    // The fetched fields of a ticket are those it was opened with, and its count of ids.
    function automatic logic fetched_right(
        input logic [1:0] i, input logic raw, input logic ends, input logic [6:0] length, input logic [6:0] count
    );
        fetched_right = {raw, ends, length} == dut.opened[ticket[i]] && (raw || count == ids[i]);
    endfunction

    wire       side_raw, side_end;
    wire [6:0] side_length, side_ids;
    assign {side_raw, side_end, side_length, side_ids} = dut.ticket_skid.side_data;

    wire [1:0] write_at = dut.write_ticket - head;

    // Raw words that wait: of the first raw ticket, or of the second after the first one's end.
    wire  [1:0]  waiting = dut.raw_words.count;
    wire  [27:0] raw_1   = dut.raw_words.first;
    wire  [27:0] raw_2   = dut.raw_words.second;
    wire         end_1   = waiting != 0 && raw_1[27];
    wire         end_2   = waiting == 2 && raw_2[27];
    logic [1:0]  raw_ok;
    always_comb begin
        raw_ok = '0;
        for (int i = 0; i < TICKETS; i++) begin
            if (is_open[i] && is_raw[i] && raws[i] == 0 && fits(raw_1, due_2 + NUMBER_BITS'(i), 1'b0)) raw_ok[0] = 1'b1;
            if (is_open[i] && is_raw[i] && raws[i] == 3'(end_1) && fits(raw_2, due_2 + NUMBER_BITS'(i), 1'b0)) begin
                raw_ok[1] = 1'b1;
            end
        end
        raw_ok[0] = raw_ok[0] && raw_1[26:24] != 0;
        raw_ok[1] = raw_ok[1] && raw_2[26:24] != 0;
    end

    logic                   past_valid;
    initial past_valid = 1'b0;

    always_ff @(posedge clk) begin
        past_valid <= 1'b1;
        if (!past_valid) assume (rst);

        // Pushes come only while ready, to free units, one raw stretch at a time.
        assume (!ticket_push || ticket_ready && !raw_open);
        assume (ticket_length == 1 || ticket_length == PART_MAX);
        assume (!(ticket_push && !ticket_raw && busy[ticket_unit]));
        assume (!raw_push || raw_ready && (raw_open || ticket_push && ticket_raw));
        // As in `dispatch`, the first word of a stretch is pushed with its ticket.
        assume (!(ticket_push && ticket_raw) || raw_push);

        if (ticket_push) opened <= opened + 1'b1;
        if (raw_push) raw_open <= raw_more;
        for (int u = 0; u < 2; u++) begin
            if (finish[u] && busy[u]) done[u] <= 1'b1;
            if (drain[u]) second[u] <= 1'b1;
            if (drain[u] && out_last[u]) begin
                busy[u] <= 1'b0;
                done[u] <= 1'b0;
            end
            if (ticket_push && !ticket_raw && ticket_unit == 1'(u)) begin
                busy[u]   <= 1'b1;
                second[u] <= 1'b0;
                two[u]    <= ticket_length == PART_MAX && !few[u];
                number[u] <= opened;
            end
        end
        if (word_valid && word_ready) begin
            leaving_second <= !word_data[27] && word_data[26:24] == 0;
            leaving_raw    <= !word_data[27] && word_data[26:24] != 0;
            if (word_data[27]) leaving <= leaving + 1'b1;
        end
        if (rst) begin
            busy           <= '0;
            done           <= '0;
            opened         <= '0;
            raw_open       <= 1'b0;
            leaving        <= '0;
            leaving_second <= 1'b0;
            leaving_raw    <= 1'b0;
        end

        if (past_valid && !rst) begin
            if (word_valid) assert (leaving != opened && fits(word_data, leaving, leaving_second));
            assert ((drain & ~done) == 0 && drain != 3);
            assert (released == (drain & out_last));
            if (idle) assert (opened == leaving);
            if (!$past(rst) && $past(word_valid && !word_ready)) begin
                assert (word_valid && word_data == $past(word_data));
            end

            // At all times.
            if (dut.read_valid) assert (fits(read_word, due_1, second_1));
            assert (opened == due_2 + NUMBER_BITS'(dut.ticket_count) && dut.tail == head + dut.ticket_count[1:0] && ahead <= dut.ticket_count);
            assert (dut.ticket_count <= 3 && dut.ring_reserved <= 2 && used <= 8 && used == dut.ring_used + dut.ring_reserved - dut.ring_freed);
            assert (dut.ring_tail == dut.ring_head + used[2:0]);
            assert (!ticket_ready || dut.ticket_count <= 2 && used <= 6);
            assert (dut.collected == 7'(second_2));
            if (second_2) assert (dut.head_valid && !is_raw[0] && ids[0] == 1);
            if (dut.head_valid) assert (fetched_right(0, dut.head_raw, dut.head_last, dut.head_length, dut.head_ids));
            if (dut.fetched_valid) begin
                assert (fetched_right(2'(dut.head_valid), dut.fetched_raw, dut.fetched_last, dut.fetched_length, dut.fetched_ids));
            end
            assert (!(dut.fetched_ready && dut.ticket_skid.side_valid));
            if (dut.ticket_skid.side_valid) begin
                assert (dut.fetched_valid && dut.head_valid);
                assert (fetched_right(2, side_raw, side_end, side_length, side_ids));
            end
            assert (dut.ring_read == dut.ring_head + 3'(dut.collected));
            if (dut.head_valid && !dut.head_raw) assert (dut.collect_last == (dut.collected == dut.head_ids));
            if (raw_begun_2) assert (dut.head_valid && is_raw[0]);
            for (int i = 0; i < TICKETS; i++) begin
                assert (is_open[i] ? is_ok[i] : !is_finished[i]);
                if (is_fetched[i]) assert (!dut.finished[ticket[i]]);
            end
            assert ((done & ~busy) == 0 && !(busy == 3 && dut.unit_ticket[0] == dut.unit_ticket[1]));
            for (int u = 0; u < 2; u++) if (busy[u]) begin
                assert (second[u] == (drain[u] && dut.drain_count == 1) && (!second[u] || two[u]));
                assert (is_open[place[u]]);
                assert (!dut.opened[dut.unit_ticket[u]][8] && !is_finished[place[u]]);
            end
            assert (dut.drain_count <= 1 || !dut.drain_valid);
            assert (dut.drain_end == ((drain & out_last) != 0));
            assert (dut.drain_one_hot == (dut.drain_valid ? 2'b01 << dut.drain_unit : 2'b00));
            assert (dut.next_one_hot == (dut.next_valid ? 2'b01 << dut.next_unit : 2'b00));
            assert ((dut.next_one_hot & (dut.drain_one_hot | ~done)) == 0);
            if (dut.write_valid) begin
                assert (is_open[write_at] && !is_raw[write_at] && write_at >= ahead && !dut.finished[dut.write_ticket]);
                assert (dut.write_place == start[write_at] + (dut.write_last ? 3'(dut.write_count) : 3'd0));
                if (!dut.write_last) begin
                    assert (dut.drain_valid && second[dut.drain_unit] && dut.unit_ticket[dut.drain_unit] == dut.write_ticket);
                end
            end
            assert (raws_open == 3'(end_1) + 3'(end_2) + 3'(raw_open));
            if (raw_open) assert (dut.ticket_count != 0 && is_raw[2'(dut.ticket_count - 1)]);
            if (waiting != 0) assert (raw_ok[0]);
            if (waiting == 2) assert (raw_ok[1]);
        end
        cover (past_valid && leaving == 4 && idle);
        cover (past_valid && !ticket_ready && $past(ticket_ready) && !$past(rst));
    end

endmodule

`default_nettype wire
