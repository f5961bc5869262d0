// The table of pairs: which id two neighbours merge to. Four banks of a cuckoo hash, two ports.
//
//   ask  -->  hash  -->  banks  -->  compare  -->  select  -->  answer     two per cycle, latency 4, never waits
//
// Banks of more than 4,096 entries are many block RAMs, some of them far away: what they read has a cycle for the way,
// and the latency is 5. Synthesis would put eight block RAMs of 2,048 entries behind a multiplexer: it is given a memory
// for every bit instead. A simulator is faster with words.
//
// An answer has no register after `select`: those who hear it have one each, close to them.
//
// The line `vocab.get(left + right)` of `merge` in python/zeton/reference.py: ids stand for bytes,
// and the merged id is the rank.
//
// A key is a pair (left, right). Bank b holds it at index right_high ^ H_b(left, right_low), with the
// tag (left, right_low). From index and tag the pair can be computed back, so an entry whose tag
// matches is that very pair: a short tag, and no false hit.

`default_nettype none

module pairs #(
    parameter int ID_BITS   = 17,
    parameter int BANK_BITS = 15,  // Each bank has 2^BANK_BITS entries; at most ID_BITS.
    parameter int FROM_BITS = 8,   // Who asked; comes back with the answer.
    parameter bit FAR       = BANK_BITS > 12
) (
    input  wire                    clk,
    input  wire                    rst,

    // Two asks per cycle; the lower bits are those of port 0. Where none is valid, ids are 0.
    input  wire  [1:0]             ask_valid,
    input  wire  [2*ID_BITS-1:0]   ask_left,
    input  wire  [2*ID_BITS-1:0]   ask_right,
    input  wire  [2*FROM_BITS-1:0] ask_from,

    output wire  [1:0]             answer_valid,
    output logic [1:0]             answer_hit,
    output logic [2*ID_BITS-1:0]   answer_id,
    output logic [2*FROM_BITS-1:0] answer_from,

    // Tables 8 to 11, one a bank. Only while nothing is asked.
    input  wire                    table_write,
    input  wire                    table_read,
    input  wire  [3:0]             table_select,
    /* verilator lint_off UNUSEDSIGNAL */  // As wide as the widest table.
    input  wire  [19:0]            table_address,
    input  wire  [39:0]            table_data,
    /* verilator lint_on UNUSEDSIGNAL */
    output logic [39:0]            table_answer
);

    localparam int BANKS      = 4;
    localparam int LOW        = ID_BITS - BANK_BITS;
    localparam int TAG_BITS   = ID_BITS + LOW;
    localparam int ENTRY_BITS = 1 + TAG_BITS + ID_BITS;
`ifdef SYNTHESIS
    localparam int SLICE      = FAR ? 1 : ENTRY_BITS;
`else
    localparam int SLICE      = ENTRY_BITS;
`endif

    // Stage 1: the tag; the index of each bank, below.
    logic [TAG_BITS-1:0]  tag       [2];
    logic [BANK_BITS-1:0] high      [2];
    // What passes along with the look-up, stage by stage.
    logic [1:0]           valid_1, valid_2, valid_near, valid_3, valid_4;
    logic [1:0][TAG_BITS-1:0]  tag_1, tag_2, tag_near, tag_3;
    logic [1:0][FROM_BITS-1:0] from_1, from_2, from_near, from_3, from_4;
    logic                 reading_near;
    logic [ID_BITS-1:0]   id [2];
    // Stage 4, a bit and an id for each port and bank.
    logic [BANKS-1:0]              bank_hit [2];
    logic [BANKS-1:0][ID_BITS-1:0] bank_id [2];

    wire table_mine = table_select[3:2] == 2'b10;
    logic [2:0] reading;       // A read of the table, stage by stage.
    logic [1:0] reading_bank;  // Held from one read to the next.
    logic [BANKS-1:0][ENTRY_BITS-1:0] entry_0;

    generate
        for (genvar p = 0; p < 2; p++) begin : tags
            assign high[p] = ask_right[p*ID_BITS + LOW +: BANK_BITS];
            if (LOW > 0) begin : some
                assign tag[p] = {ask_left[p*ID_BITS +: ID_BITS], ask_right[p*ID_BITS +: LOW]};
            end else begin : none
                assign tag[p] = ask_left[p*ID_BITS +: ID_BITS];
            end
        end

        for (genvar b = 0; b < BANKS; b++) begin : bank
            logic [BANK_BITS-1:0]  index   [2];
            logic [BANK_BITS-1:0]  address [2];
            logic                  write;
            logic [ENTRY_BITS-1:0] write_data;
            logic [ENTRY_BITS-1:0] read    [2];
            logic [ENTRY_BITS-1:0] near    [2];   // As read, beside the memory.
            logic [ENTRY_BITS-1:0] entry   [2];

            for (genvar i = 0; i < BANK_BITS; i++) begin : hashed
                localparam logic [63:0] ROW = hash::row(b, i);
                assign index[0][i] = high[0][i] ^ (^(tag[0] & ROW[TAG_BITS-1:0]));
                assign index[1][i] = high[1][i] ^ (^(tag[1] & ROW[TAG_BITS-1:0]));
            end

            always_ff @(posedge clk) begin
                // The table's own accesses go by port 0, whose index is 0 meanwhile: so is that of no ask.
                address[0] <= index[0] ^ (table_write || table_read ? table_address[BANK_BITS-1:0] : '0);
                address[1] <= index[1];
                write      <= table_write && table_mine && table_select[1:0] == 2'(b);
                write_data <= table_data[ENTRY_BITS-1:0];
                entry[0]   <= near[0];
                entry[1]   <= near[1];
                for (int p = 0; p < 2; p++) begin
                    bank_hit[p][b] <= entry[p][ENTRY_BITS-1] && entry[p][ID_BITS +: TAG_BITS] == tag_3[p];
                    bank_id[p][b] <= entry[p][ID_BITS-1:0];
                end
                if (rst) write <= 1'b0;
            end

            memory_pair #(.WIDTH(ENTRY_BITS), .DEPTH_LOG(BANK_BITS), .SLICE(SLICE)) entries (
                .clk, .write, .write_data,
                .address_0(address[0]), .read_data_0(read[0]),
                .address_1(address[1]), .read_data_1(read[1])
            );

            if (FAR) begin : away
                always_ff @(posedge clk) begin
                    near[0] <= read[0];
                    near[1] <= read[1];
                end
            end else begin : beside
                always_comb begin
                    near[0] = read[0];
                    near[1] = read[1];
                end
            end

            // A process, and no `assign`: Icarus 11 does not follow one that reads a word of an array here.
            always_comb entry_0[b] = entry[0];
        end

        // What passes along waits as long as the banks do.
        if (FAR) begin : far
            always_ff @(posedge clk) begin
                valid_near   <= rst ? '0 : valid_2;
                tag_near     <= tag_2;
                from_near    <= from_2;
                reading_near <= reading[1] && !rst;
            end
        end else begin : close
            assign valid_near   = valid_2;
            assign tag_near     = tag_2;
            assign from_near    = from_2;
            assign reading_near = reading[1];
        end
    endgenerate

    // A key is in one bank at most, so the ids of the others are masked out.
    always_comb begin
        for (int p = 0; p < 2; p++) begin
            id[p] = '0;
            for (int b = 0; b < BANKS; b++) begin
                id[p] = id[p] | ({ID_BITS{bank_hit[p][b]}} & bank_id[p][b]);
            end
            answer_hit[p] = bank_hit[p] != '0;
            answer_id[p*ID_BITS +: ID_BITS]       = id[p];
            answer_from[p*FROM_BITS +: FROM_BITS] = from_4[p];
        end
    end

    assign answer_valid = valid_4;

    always_ff @(posedge clk) begin
        valid_1 <= ask_valid;
        valid_2 <= valid_1;
        valid_3 <= valid_near;
        valid_4 <= valid_3;
        for (int p = 0; p < 2; p++) begin
            tag_1[p]  <= tag[p];
            tag_2[p]  <= tag_1[p];
            tag_3[p]  <= tag_near[p];
            from_1[p] <= ask_from[p*FROM_BITS +: FROM_BITS];
            from_2[p] <= from_1[p];
            from_3[p] <= from_near[p];
            from_4[p] <= from_3[p];
        end

        reading      <= {reading_near, reading[0], table_read && table_mine};
        if (table_read) reading_bank <= table_select[1:0];
        table_answer <= reading[2] ? 40'(entry_0[reading_bank]) : '0;

        if (rst) begin
            valid_1      <= '0;
            valid_2      <= '0;
            valid_3      <= '0;
            valid_4      <= '0;
            reading      <= '0;
            table_answer <= '0;
        end
    end

endmodule

`default_nettype wire
