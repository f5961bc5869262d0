// The environment of `parts`: offers stay until taken, bytes leave in order, and records name every
// byte once, not before it is there.

`default_nettype none

module parts_proof
    import zeton_pkg::*;
(
    input wire          clk,
    input wire          rst,
    input wire          byte_valid, byte_cut,
    input wire [7:0]    byte_data,
    input wire          record_valid,
    input wire record_t record_data,
    input wire          part_byte_ready, part_ready
);

    wire       byte_ready, record_ready, idle;
    wire       part_byte_valid, part_valid;
    wire [7:0] part_byte_data;
    wire record_t part_data;

    parts #(.PART_MAX(3)) dut (.*);

    stays #(.WIDTH(8)) bytes (
        .clk, .rst, .valid(part_byte_valid), .ready(part_byte_ready), .data(part_byte_data)
    );
    stays #(.WIDTH(28)) records (
        .clk, .rst, .valid(part_valid), .ready(part_ready), .data(part_data)
    );

    // The byte inside, one at most, and the bytes that left or may leave without a record yet.
    logic [7:0]  held;
    logic        held_valid;
    logic [24:0] unnamed;
    wire         push_byte = byte_valid && byte_ready;
    wire         part_has_bytes = part_data.kind == RECORD_MERGE || part_data.kind == RECORD_RAW;
    wire         name_bytes = part_valid && part_ready && part_has_bytes;

    always_ff @(posedge clk) begin
        // MERGE and RAW records have a byte or more.
        assume (record_data.payload != 0 || record_data.kind > RECORD_RAW);
        if (push_byte) held <= byte_data;
        held_valid   <= push_byte || held_valid && !(part_byte_valid && part_byte_ready);
        unnamed <= unnamed + 25'(push_byte) - (name_bytes ? 25'(part_data.payload) : 25'd0);
        if (rst) begin
            held_valid   <= 1'b0;
            unnamed <= '0;
        end else begin
            assert (held_valid == part_byte_valid);
            if (held_valid) assert (part_byte_data == held);
            if (name_bytes) assert (part_data.payload != 0 && 25'(part_data.payload) <= unnamed);
            if (name_bytes && part_data.kind == RECORD_MERGE) assert (part_data.payload <= 3);
            if (idle) assert (unnamed == 0);
            // Invariants that induction needs.
            assert (unnamed == 25'(dut.byte_count) + (part_valid && part_has_bytes ? 25'(part_data.payload) : 25'd0));
            if (part_valid && part_has_bytes) assert (part_data.payload != 0 && part_data.payload <= (part_data.kind == RECORD_RAW ? 64 : 3));
            if (dut.has_bytes) assert (dut.current.payload != 0 && dut.one_left == (dut.current.payload == 1));
            if (dut.byte_count != 0 || dut.is_long) assert (dut.has_bytes);
            assert (!dut.is_long || dut.current.kind == RECORD_MERGE);
            assert (dut.byte_count < (dut.is_long || dut.current.kind != RECORD_MERGE ? 64 : 3));
        end
        cover (!rst && name_bytes && part_data.kind == RECORD_RAW && part_data.payload == 3);
    end

endmodule

`default_nettype wire
