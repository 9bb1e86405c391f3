package bagfmt_test

import (
	"testing"
)

// TestChunkHeaders compares the headers of all chunks with those of single ones, in
// sound bags and in one with a damaged header.
func TestChunkHeaders(t *testing.T) {
	t.Parallel()
	bags := map[string][]byte{}
	for _, comp := range compressions {
		bags[string(comp)] = sampleBag(t, comp)
	}
	full := bags["none"]
	chunk := recordsOf(t, full, 5)
	bags["damaged"] = setU32(full, chunk[1].off, 1<<21)
	bags["unknown"] = replace(full, chunk[1].fields["compression"], "zip!")
	for name, b := range bags {
		r, err := openBag(b)
		if err != nil {
			t.Fatal(err)
		}
		i := 0
		for h, err := range r.ChunkHeaders() {
			want, wantErr := r.ChunkHeader(i)
			if h != want || (err == nil) != (wantErr == nil) || err != nil && err.Error() != wantErr.Error() {
				t.Errorf("%s: chunk %d: %v, %v, want %v, %v", name, i, h, err, want, wantErr)
			}
			i++
		}
		if i != r.NumSpans() || i < 3 {
			t.Errorf("%s: %d headers of %d chunks", name, i, r.NumSpans())
		}
		for range r.ChunkHeaders() {
			break
		}
	}
}
