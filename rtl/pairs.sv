// The pair bank: a cuckoo hash table from two neighbouring ids to the id that they merge to.
//
//   lookup --> hash --> 4 banks --> compare --> select --> result    two per cycle, latency 4
//
// A key is a pair (left, right). Bank b holds it at index right_high ^ H_b(tag), with the tag
// {left, right_low}. Index and tag determine the pair, so an entry whose tag matches is that pair:
// the tag is short, and a false hit cannot happen.
//
//   entry   |  top  |  ..  | ID_BITS - 1 .. 0 |
//           | valid | tag  |    merged id     |
//
// For example, with ID_BITS = 10 and BANK_BITS = 8, the pair ("t", "h") = (116, 104) has the tag
// {116, 104 mod 4} = 1D0, and with the id 256 of "th" the entry 474100 (hex).
//
// Banks of more than 4,096 entries (OUTPUT_REGISTER) span many block RAMs, some of them far away: a
// register behind them makes the latency 5. Synthesis would put eight block RAMs of 2,048 entries
// behind a multiplexer, so each bit of such a bank is a memory of its own; a simulator is faster
// with words. A result has no register after `select`, because each merge unit has one of its own.
//
// Invariant: at most one bank hits. Specification: the look-up `vocab[a + b]` in `merge_steps` of
// python/zeton/reference.py (ids stand for bytes, and the merged id is the rank), and `_look_up` of
// `Lane` in python/zeton/accel/reference.py. Test: tests/rtl/test_pairs.py.

`default_nettype none

module pairs
    import zeton_pkg::*;
#(
    parameter int ID_BITS     = 17,
    parameter int BANK_BITS   = 15,  // Each bank has 2^BANK_BITS entries; at most ID_BITS.
    parameter int SOURCE_BITS = 8,   // The requester's number; comes back with the result.
    parameter bit OUTPUT_REGISTER = BANK_BITS > 12
) (
    input  wire                      clk,
    input  wire                      rst,

    // Two lookups per cycle; port 0 has the lower bits. A port without a lookup has zero ids.
    input  wire  [1:0]               lookup_valid,
    input  wire  [2*ID_BITS-1:0]     lookup_left,
    input  wire  [2*ID_BITS-1:0]     lookup_right,
    input  wire  [2*SOURCE_BITS-1:0] lookup_source,

    output wire  [1:0]               result_valid,
    output logic [1:0]               result_hit,
    output logic [2*ID_BITS-1:0]     result_id,
    output logic [2*SOURCE_BITS-1:0] result_source,

    // Tables 8 to 11, one for each bank; only without lookups. Response latency: that of a lookup.
    /* verilator lint_off UNUSEDSIGNAL */  // The request is as wide as the widest table.
    input  wire  table_request_t     table_request,
    /* verilator lint_on UNUSEDSIGNAL */
    output table_entry_t             table_response
);

    localparam int BANKS      = 4;
    localparam int LOW        = ID_BITS - BANK_BITS;
    localparam int TAG_BITS   = ID_BITS + LOW;
    localparam int ENTRY_BITS = 1 + TAG_BITS + ID_BITS;
`ifdef SYNTHESIS
    localparam int SLICE      = OUTPUT_REGISTER ? 1 : ENTRY_BITS;
`else
    localparam int SLICE      = ENTRY_BITS;
`endif

    // Stage 1: the tag; the index of each bank, below.
    logic [TAG_BITS-1:0]  tag       [2];
    logic [BANK_BITS-1:0] high      [2];
    // Fields that are delayed with the look-up; `bank` is the stage of the banks' output.
    logic [1:0]           valid_1, valid_2, valid_bank, valid_3, valid_4;
    logic [1:0][TAG_BITS-1:0]    tag_1, tag_2, tag_bank, tag_3;
    logic [1:0][SOURCE_BITS-1:0] source_1, source_2, source_bank, source_3, source_4;
    logic                 read_bank;
    logic [ID_BITS-1:0]   id [2];
    // Stage 4: a hit and an id for each port and bank.
    logic [BANKS-1:0]              bank_hit [2];
    logic [BANKS-1:0][ID_BITS-1:0] bank_id [2];

    localparam logic [1:0] PAIRS_SELECT = 2'(TABLE_PAIRS >> 2);
    wire table_selected = table_request.select[3:2] == PAIRS_SELECT;
    logic [2:0] read_shift;    // A table read, stage by stage.
    logic [1:0] read_select;   // Its bank; kept until the next read.
    logic [BANKS-1:0][ENTRY_BITS-1:0] entry_0;

    generate
        for (genvar p = 0; p < 2; p++) begin : tags
            assign high[p] = lookup_right[p*ID_BITS + LOW +: BANK_BITS];
            if (LOW > 0) begin : with_low
                assign tag[p] = {lookup_left[p*ID_BITS +: ID_BITS], lookup_right[p*ID_BITS +: LOW]};
            end else begin : without_low
                assign tag[p] = lookup_left[p*ID_BITS +: ID_BITS];
            end
        end

        for (genvar b = 0; b < BANKS; b++) begin : bank
            logic [BANK_BITS-1:0]  index    [2];
            logic [BANK_BITS-1:0]  address  [2];
            logic                  write;
            logic [ENTRY_BITS-1:0] write_data;
            logic [ENTRY_BITS-1:0] read     [2];
            logic [ENTRY_BITS-1:0] bank_out [2];
            logic [ENTRY_BITS-1:0] entry    [2];

            for (genvar i = 0; i < BANK_BITS; i++) begin : hashed
                localparam logic [63:0] ROW = hash::row(b, i);
                assign index[0][i] = high[0][i] ^ (^(tag[0] & ROW[TAG_BITS-1:0]));
                assign index[1][i] = high[1][i] ^ (^(tag[1] & ROW[TAG_BITS-1:0]));
            end

            always_ff @(posedge clk) begin
                // A table access uses port 0, whose index is 0 then: that of the pair (0, 0).
                address[0] <= index[0] ^ (table_request.write || table_request.read
                    ? table_request.address[BANK_BITS-1:0] : '0);
                address[1] <= index[1];
                write      <= table_request.write && table_selected && table_request.select[1:0] == 2'(b);
                write_data <= table_request.data[ENTRY_BITS-1:0];
                entry[0]   <= bank_out[0];
                entry[1]   <= bank_out[1];
                for (int p = 0; p < 2; p++) begin
                    bank_hit[p][b] <= entry[p][ENTRY_BITS-1] && entry[p][ID_BITS +: TAG_BITS] == tag_3[p];
                    bank_id[p][b]  <= entry[p][ID_BITS-1:0];
                end
                if (rst) write <= 1'b0;
            end

            memory_pair #(.WIDTH(ENTRY_BITS), .DEPTH_LOG(BANK_BITS), .SLICE(SLICE)) entries (
                .clk, .write, .write_data,
                .address_0(address[0]), .read_data_0(read[0]),
                .address_1(address[1]), .read_data_1(read[1])
            );

            if (OUTPUT_REGISTER) begin : registered
                always_ff @(posedge clk) begin
                    bank_out[0] <= read[0];
                    bank_out[1] <= read[1];
                end
            end else begin : direct
                always_comb begin
                    bank_out[0] = read[0];
                    bank_out[1] = read[1];
                end
            end

            // A process, and no `assign`, because Icarus 11 does not follow one that reads a word
            // of an array here.
            always_comb entry_0[b] = entry[0];
        end

        // The delayed fields wait as long as the banks do.
        if (OUTPUT_REGISTER) begin : fields_registered
            always_ff @(posedge clk) begin
                valid_bank  <= rst ? '0 : valid_2;
                tag_bank    <= tag_2;
                source_bank <= source_2;
                read_bank   <= read_shift[1] && !rst;
            end
        end else begin : fields_direct
            assign valid_bank  = valid_2;
            assign tag_bank    = tag_2;
            assign source_bank = source_2;
            assign read_bank   = read_shift[1];
        end
    endgenerate

    // A key is in one bank at most, so the OR of the masked ids is the id.
    always_comb begin
        for (int p = 0; p < 2; p++) begin
            id[p] = '0;
            for (int b = 0; b < BANKS; b++) begin
                id[p] = id[p] | ({ID_BITS{bank_hit[p][b]}} & bank_id[p][b]);
            end
            result_hit[p] = bank_hit[p] != '0;
            result_id[p*ID_BITS +: ID_BITS]             = id[p];
            result_source[p*SOURCE_BITS +: SOURCE_BITS] = source_4[p];
        end
    end

    assign result_valid = valid_4;

    always_ff @(posedge clk) begin
        valid_1 <= lookup_valid;
        valid_2 <= valid_1;
        valid_3 <= valid_bank;
        valid_4 <= valid_3;
        for (int p = 0; p < 2; p++) begin
            tag_1[p]    <= tag[p];
            tag_2[p]    <= tag_1[p];
            tag_3[p]    <= tag_bank[p];
            source_1[p] <= lookup_source[p*SOURCE_BITS +: SOURCE_BITS];
            source_2[p] <= source_1[p];
            source_3[p] <= source_bank[p];
            source_4[p] <= source_3[p];
        end

        read_shift     <= {read_bank, read_shift[0], table_request.read && table_selected};
        if (table_request.read) read_select <= table_request.select[1:0];
        table_response <= read_shift[2] ? 40'(entry_0[read_select]) : '0;

        if (rst) begin
            valid_1        <= '0;
            valid_2        <= '0;
            valid_3        <= '0;
            valid_4        <= '0;
            read_shift     <= '0;
            table_response <= '0;
        end
    end

endmodule

`default_nettype wire
