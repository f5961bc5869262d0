// The world around `reorder`: tickets are opened, units finish as they like, raw words are said; then words must leave
// ticket by ticket, each with all its ids in order and its end on the last.
//
// Every ticket has a number, and what belongs to it carries that number: an id is {last, place in the part, number}.

`default_nettype none

module reorder_proof (
    input wire       clk,
    input wire       rst,
    // All free.
    input wire       open_now, open_raw,
    input wire [6:0] open_length,
    input wire       open_unit,
    input wire       raw_now, raw_more,
    input wire [1:0] raw_kind,
    input wire [1:0] finish,
    input wire [1:0] few,          // A unit has one id only, not as many as the part has bytes.
    input wire       word_ready
);

    localparam int NUMBER_BITS = 3;  // More numbers than tickets.
    localparam int ID_BITS     = 2 + NUMBER_BITS;
    localparam int PART_MAX    = 2;
    localparam int TICKETS     = 4;

    wire        open_room, raw_room, word_valid, idle;
    wire [27:0] word_data;
    wire [1:0]  drain, released;

    // Units: those that hold a part, what is left of it, and whether they are done.
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
    logic                   speaking;                // A raw stretch is under way.
    wire  [NUMBER_BITS-1:0] raw_number = open_now ? opened : opened - 1'b1;
    // A byte or a cut, and at the end a close.
    wire  [2:0]             kind       = raw_more ? (raw_kind[0] ? 3'd1 : 3'd2) : raw_kind[0] ? 3'd3 : {1'b1, raw_kind};
    wire  [27:0]            raw_word   = {!raw_more, kind, 24'(raw_number)};

    reorder #(.ID_BITS(ID_BITS), .ALL(2), .PART_MAX(PART_MAX), .TICKET_BITS(2), .RING_BITS(3)) dut (
        .clk, .rst, .idle,
        .open_now, .open_room, .open_raw, .open_end(1'b1), .open_length, .open_unit,
        .raw_now, .raw_room, .raw_word,
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

    // ---- What holds at all times; induction needs to know. First what is due after the words that are on their way out.
    wire  [27:0] read_word = dut.read_raw ? dut.read_word : {dut.read_end, 3'd0, 24'(dut.ring_id)};
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

    // An id that is on its way into the ring counts as there, and so does the end of a ticket with it.
    function automatic logic [ID_BITS-1:0] in_ring(input logic [2:0] at);
        in_ring = dut.wrote && dut.wrote_place == at ? dut.wrote_id : dut.ring.words[at];
    endfunction

    // Then the open tickets, from the head on: where the ids of each go, and who has them. The first are fetched.
    wire  [1:0] ahead = 2'(dut.head_valid) + 2'(dut.then_valid) + 2'(dut.fetched_tickets.waits);
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
            ids[i]         = dut.ids[ticket[i]];
            if (dut.wrote && dut.wrote_last && dut.wrote_ticket == ticket[i]) begin
                is_finished[i] = 1'b1;
                ids[i]         = dut.wrote_ids;
            end
            start[i]   = dut.ring_head + used[2:0];
            raws[i]    = raws_open;
            is_open[i] = i < dut.tickets;
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

    // What is fetched of a ticket is what it was opened with, and how many ids it has.
    function automatic logic fetched_right(
        input logic [1:0] i, input logic raw, input logic ends, input logic [6:0] length, input logic [6:0] count
    );
        fetched_right = {raw, ends, length} == dut.opened[ticket[i]] && (raw || count == ids[i]);
    endfunction

    wire       side_raw, side_end;
    wire [6:0] side_length, side_ids;
    assign {side_raw, side_end, side_length, side_ids} = dut.fetched_tickets.side;

    wire [1:0] wrote_at = dut.wrote_ticket - head;

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

        // What is said only where there is room, to free units, one stretch at a time.
        assume (!open_now || open_room && !speaking);
        assume (open_length == 1 || open_length == PART_MAX);
        assume (!(open_now && !open_raw && busy[open_unit]));
        assume (!raw_now || raw_room && (speaking || open_now && open_raw));
        // As in `dispatch`, the first word of a stretch is said with its ticket.
        assume (!(open_now && open_raw) || raw_now);

        if (open_now) opened <= opened + 1'b1;
        if (raw_now) speaking <= raw_more;
        for (int u = 0; u < 2; u++) begin
            if (finish[u] && busy[u]) done[u] <= 1'b1;
            if (drain[u]) second[u] <= 1'b1;
            if (drain[u] && out_last[u]) begin
                busy[u] <= 1'b0;
                done[u] <= 1'b0;
            end
            if (open_now && !open_raw && open_unit == 1'(u)) begin
                busy[u]   <= 1'b1;
                second[u] <= 1'b0;
                two[u]    <= open_length == PART_MAX && !few[u];
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
            speaking       <= 1'b0;
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
            assert (opened == due_2 + NUMBER_BITS'(dut.tickets) && dut.tail == head + dut.tickets[1:0] && ahead <= dut.tickets);
            assert (dut.tickets <= 3 && dut.taken <= 2 && used <= 8 && used == dut.ring_used + dut.taken - dut.freed);
            assert (dut.ring_tail == dut.ring_head + used[2:0]);
            assert (!open_room || dut.tickets <= 2 && used <= 6);
            assert (dut.collected == 7'(second_2));
            if (second_2) assert (dut.head_valid && !is_raw[0] && ids[0] == 1);
            if (dut.head_valid) assert (fetched_right(0, dut.head_raw, dut.head_end, dut.head_length, dut.head_ids));
            if (dut.then_valid) begin
                assert (fetched_right(2'(dut.head_valid), dut.then_raw, dut.then_end, dut.then_length, dut.then_ids));
            end
            assert (!(dut.then_room && dut.fetched_tickets.waits));
            if (dut.fetched_tickets.waits) begin
                assert (dut.then_valid && dut.head_valid);
                assert (fetched_right(2, side_raw, side_end, side_length, side_ids));
            end
            assert (dut.ring_read == dut.ring_head + 3'(dut.collected));
            if (dut.head_valid && !dut.head_raw) assert (dut.collects_last == (dut.collected == dut.head_ids));
            if (raw_begun_2) assert (dut.head_valid && is_raw[0]);
            for (int i = 0; i < TICKETS; i++) begin
                assert (is_open[i] ? is_ok[i] : !is_finished[i]);
                if (is_fetched[i]) assert (!dut.finished[ticket[i]]);
            end
            assert ((done & ~busy) == 0 && !(busy == 3 && dut.unit_ticket[0] == dut.unit_ticket[1]));
            for (int u = 0; u < 2; u++) if (busy[u]) begin
                assert (second[u] == (drain[u] && dut.drained_ids == 1) && (!second[u] || two[u]));
                assert (is_open[place[u]]);
                assert (!dut.opened[dut.unit_ticket[u]][8] && !is_finished[place[u]]);
            end
            assert (dut.drained_ids <= 1 || !dut.draining);
            assert (dut.drain_end == ((drain & out_last) != 0));
            assert (dut.drained_one == (dut.draining ? 2'b01 << dut.drained : 2'b00));
            assert (dut.next_one == (dut.next_valid ? 2'b01 << dut.next : 2'b00));
            assert ((dut.next_one & (dut.drained_one | ~done)) == 0);
            if (dut.wrote) begin
                assert (is_open[wrote_at] && !is_raw[wrote_at] && wrote_at >= ahead && !dut.finished[dut.wrote_ticket]);
                assert (dut.wrote_place == start[wrote_at] + (dut.wrote_last ? 3'(dut.wrote_ids) : 3'd0));
                if (!dut.wrote_last) begin
                    assert (dut.draining && second[dut.drained] && dut.unit_ticket[dut.drained] == dut.wrote_ticket);
                end
            end
            assert (raws_open == 3'(end_1) + 3'(end_2) + 3'(speaking));
            if (speaking) assert (dut.tickets != 0 && is_raw[2'(dut.tickets - 1)]);
            if (waiting != 0) assert (raw_ok[0]);
            if (waiting == 2) assert (raw_ok[1]);
        end
        cover (past_valid && leaving == 4 && idle);
        cover (past_valid && !open_room && $past(open_room) && !$past(rst));
    end

endmodule

`default_nettype wire
