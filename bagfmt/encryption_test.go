package bagfmt_test

import (
	"bytes"
	"cmp"
	"crypto/aes"
	"crypto/cipher"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"

	"github.com/gorosbag/gorosbag/bagfmt"
	"github.com/gorosbag/gorosbag/bagfmt/recovery"
	"github.com/gorosbag/gorosbag/internal/ros/fields"
	"github.com/gorosbag/gorosbag/internal/testkit"
	"github.com/gorosbag/gorosbag/rosbag"
)

// stockKeys are the AES keys of the bags in testdata/encrypted, made by stock of
// testdata/python_none.bag: cpp_* with rosbag encrypt, python_lz4 with the Python API
// (Bag.set_encryptor) and small chunks. The GPG key that wraps them is gone.
var stockKeys = map[string]string{
	"cpp_bz2":    "dcfbb8fa30210f3c0e82029ec2d5a254",
	"cpp_lz4":    "218dbf0f368bd7d3535521751db84d27",
	"cpp_none":   "bab037b56eb531f881af257e82994654",
	"python_lz4": "99082d7847e1f348a34d91fe6ae5a408",
}

// giveKey is an UnwrapKey that returns a copy of key.
func giveKey(key []byte) func(rosbag.Encryption) ([]byte, error) {
	return func(rosbag.Encryption) ([]byte, error) { return bytes.Clone(key), nil }
}

// sealer encrypts as stock does.
type sealer struct {
	block cipher.Block
	rnd   *rand.ChaCha8
}

func newSealer(tb testing.TB, key []byte) *sealer {
	tb.Helper()
	block, err := aes.NewCipher(key)
	if err != nil {
		tb.Fatal(err)
	}
	return &sealer{block, rand.NewChaCha8([32]byte{1})}
}

func (s *sealer) seal(plain []byte) []byte {
	pad := aes.BlockSize - len(plain)%aes.BlockSize
	return s.sealPadded(append(bytes.Clone(plain), bytes.Repeat([]byte{byte(pad)}, pad)...))
}

// sealPadded is seal for what has its padding already.
func (s *sealer) sealPadded(plain []byte) []byte {
	out := make([]byte, aes.BlockSize+len(plain))
	_, _ = s.rnd.Read(out[:aes.BlockSize])
	cipher.NewCBCEncrypter(s.block, out[:aes.BlockSize]).CryptBlocks(out[aes.BlockSize:], plain)
	return out
}

// sealedRecord is a record with an encrypted header and encrypted data.
func (s *sealer) sealedRecord(header, data []byte) []byte {
	var b []byte
	for _, part := range [][]byte{header, data} {
		sealed := s.seal(part)
		b = binary.LittleEndian.AppendUint32(b, uint32(len(sealed)))
		b = append(b, sealed...)
	}
	return b
}

// bag makes of a sound bag what stock would have written with encryption.
func (s *sealer) bag(tb testing.TB, plain []byte, more ...fields.Field) []byte {
	tb.Helper()
	out := []byte("#ROSBAG V2.0\n")
	moved := map[uint64]uint64{} // positions of chunks
	indexPos := 0
	for _, r := range records(tb, plain) {
		header := plain[r.off+4 : r.dataAt]
		switch r.op {
		case 3: // bag header
			h, err := fields.Parse(header)
			if err != nil {
				tb.Fatal(err)
			}
			h = append(h,
				fields.Field{Key: "encryptor", Value: "rosbag/AesCbcEncryptor"},
				fields.Field{Key: "gpg_user", Value: "Ann"},
				fields.Field{Key: "encrypted_key", Value: "wrapped"})
			out = append(out, rec(append(h, more...), r.data)...)
		case 5: // chunk
			h, err := fields.Parse(header)
			if err != nil {
				tb.Fatal(err)
			}
			h = slices.DeleteFunc(h, func(f fields.Field) bool { return f.Key == "crc32c" })
			moved[uint64(r.off)] = uint64(len(out))
			out = append(out, rec(h, s.seal(r.data))...)
		case 7: // connection
			if indexPos == 0 {
				indexPos = len(out)
			}
			out = append(out, s.sealedRecord(header, r.data)...)
		case 6: // chunk info
			at, end := r.fields["chunk_pos"], r.dataAt+4+len(r.data)
			b := setU64(plain[:end], at, moved[binary.LittleEndian.Uint64(plain[at:])])
			out = append(out, b[r.off:]...)
		default:
			out = append(out, plain[r.off:r.dataAt+4+len(r.data)]...)
		}
	}
	return setU64(out, cutRecord(tb, out, 13).fields["index_pos"], uint64(indexPos))
}

// cutIndex returns a bag up to its index section, whose records may be encrypted.
func cutIndex(tb testing.TB, b []byte) []byte {
	tb.Helper()
	n := binary.LittleEndian.Uint64(b[cutRecord(tb, b, 13).fields["index_pos"]:])
	return b[:n:n]
}

// unclosed is unindexed for an encrypted bag.
func unclosed(tb testing.TB, b []byte) []byte {
	tb.Helper()
	return setU64(b, cutRecord(tb, b, 13).fields["index_pos"], 0)
}

// readWith returns all messages as a Reader gives them, in time order.
func readWith(b []byte, o bagfmt.ReaderOptions, q rosbag.Query) (msgs []msg, errs []error) {
	r, err := bagfmt.NewReader(bytes.NewReader(b), int64(len(b)), o)
	if err != nil {
		return nil, []error{err}
	}
	errs = slices.Clone(r.Info().Damage)
	for m, err := range rosbag.Messages(r, q) {
		if err != nil {
			errs = append(errs, err)
			continue
		}
		msgs = append(msgs, asMsg(m))
	}
	return msgs, errs
}

// scanWith returns all messages as a Scanner gives them, in file order.
func scanWith(tb testing.TB, b []byte, o bagfmt.ScannerOptions) (msgs []msg, errs []error) {
	tb.Helper()
	s, err := bagfmt.NewScanner(bytes.NewReader(b), o)
	if err != nil {
		return nil, []error{err}
	}
	defer s.Close()
	for {
		m, err := s.Next()
		switch {
		case errors.Is(err, io.EOF):
			return msgs, errs
		case err != nil:
			if errs = append(errs, err); len(errs) > len(b) {
				tb.Fatal("errors without end")
			}
		default:
			msgs = append(msgs, asMsg(m))
		}
	}
}

func sorted(msgs []msg) []msg {
	msgs = slices.Clone(msgs)
	slices.SortFunc(msgs, func(a, b msg) int {
		return cmp.Or(a.Time.Compare(b.Time), cmp.Compare(a.Topic, b.Topic), cmp.Compare(a.Data, b.Data))
	})
	return msgs
}

// TestEncryptedByStock reads bags that stock has encrypted, in every way there is.
func TestEncryptedByStock(t *testing.T) {
	t.Parallel()
	plain, err := os.ReadFile("testdata/python_none.bag")
	if err != nil {
		t.Fatal(err)
	}
	want, errs := readAll(t, plain, rosbag.Query{})
	if len(want) != 27 || errs != nil {
		t.Fatalf("%d messages, %v", len(want), errs)
	}
	for name, secret := range stockKeys {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b, err := os.ReadFile("testdata/encrypted/" + name + ".bag")
			if err != nil {
				t.Fatal(err)
			}
			key, err := hex.DecodeString(secret)
			if err != nil {
				t.Fatal(err)
			}
			check := func(way string, got []msg, errs []error, fine ...error) {
				t.Helper()
				errs = slices.DeleteFunc(errs, func(err error) bool {
					return slices.ContainsFunc(fine, func(f error) bool { return errors.Is(err, f) })
				})
				if d := gocmp.Diff(sorted(want), sorted(got)); d != "" || len(errs) > 0 {
					t.Errorf("%s: errors %v, differs (-want +got):\n%.2000s", way, errs, d)
				}
			}
			got, errs := readWith(b, bagfmt.ReaderOptions{IndexOnly: true, UnwrapKey: giveKey(key)}, rosbag.Query{})
			check("index", got, errs)
			got, errs = readWith(b, bagfmt.ReaderOptions{IndexOnly: true, UnwrapKey: giveKey(key)}, rosbag.Query{Workers: 2, Reuse: true})
			check("workers", got, errs)
			got, errs = readWith(unclosed(t, b), bagfmt.ReaderOptions{UnwrapKey: giveKey(key)}, rosbag.Query{})
			check("no index", got, errs, rosbag.ErrUnindexed)
			got, errs = scanWith(t, b, bagfmt.ScannerOptions{UnwrapKey: giveKey(key)})
			check("scanner", got, errs)
			got, errs = scanWith(t, b, bagfmt.ScannerOptions{UnwrapKey: giveKey(key), Reuse: true})
			check("scanner with workers", got, errs)
		})
	}
}

// TestEncryptedAsPlain compares bags with their encrypted versions, through each door of a
// Reader.
func TestEncryptedAsPlain(t *testing.T) {
	t.Parallel()
	key := []byte("0123456789abcdef")
	for _, comp := range compressions {
		plain := sampleBag(t, comp)
		b := newSealer(t, key).bag(t, plain)
		p, err := openBag(plain)
		if err != nil {
			t.Fatal(err)
		}
		var given []byte
		r, err := bagfmt.NewReader(bytes.NewReader(b), int64(len(b)), bagfmt.ReaderOptions{IndexOnly: true, UnwrapKey: func(e rosbag.Encryption) ([]byte, error) {
			if want := (rosbag.Encryption{Encryptor: "rosbag/AesCbcEncryptor", User: "Ann", WrappedKey: []byte("wrapped")}); !gocmp.Equal(e, want) {
				t.Errorf("asked for the key of %+v, want %+v", e, want)
			}
			given = bytes.Clone(key)
			return given, nil
		}})
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(given, make([]byte, len(key))) {
			t.Errorf("the key was not overwritten: %x", given)
		}
		if e := r.Encryption(); e == nil || e.User != "Ann" || p.Encryption() != nil {
			t.Errorf("encryption is %+v, of the plain bag %+v", e, p.Encryption())
		}
		if d := gocmp.Diff(p.Connections(), r.Connections()); d != "" {
			t.Errorf("%s: connections differ (-want +got):\n%s", comp, d)
		}
		if p.NumSpans() < 3 || p.NumSpans() != r.NumSpans() {
			t.Fatalf("%s: %d chunks, want %d", comp, r.NumSpans(), p.NumSpans())
		}
		for i := range p.NumSpans() {
			want, err := p.Index(i, nil)
			got, err2 := r.Index(i, nil)
			if d := gocmp.Diff(want, got); d != "" || err != nil || err2 != nil {
				t.Errorf("%s: index of chunk %d: %v, %v, differs (-want +got):\n%s", comp, i, err, err2, d)
			}
		}
		for _, c := range p.Connections() {
			want, err := lastOf(p, c.ID, p.Info().End)
			got, err2 := lastOf(r, c.ID, r.Info().End)
			if err != nil || err2 != nil || want == nil || got == nil || asMsg(want) != asMsg(got) {
				t.Errorf("%s: last message of %d: %v, %v; %v, %v", comp, c.ID, got, want, err, err2)
			}
		}
	}
}

// TestEncryptedWithoutKey: what cannot be read is refused, and the error says whose key is
// missing.
func TestEncryptedWithoutKey(t *testing.T) {
	t.Parallel()
	b := newSealer(t, make([]byte, 16)).bag(t, sampleBag(t, rosbag.CompressionNone))
	away := errors.New("keyring is away")
	for name, tc := range map[string]struct {
		bag    []byte
		unwrap func(rosbag.Encryption) ([]byte, error)
		want   error
		says   string
	}{
		"nobody to ask":  {b, nil, nil, `the GPG key of "Ann"`},
		"no key":         {b, func(rosbag.Encryption) ([]byte, error) { return nil, away }, away, `of "Ann" (rosbag/AesCbcEncryptor): keyring is away`},
		"key of 5 bytes": {b, giveKey([]byte("short")), nil, "a key of 5 bytes"},
		"no wrapped key": {
			newSealer(t, make([]byte, 16)).bag(t, sampleBag(t, rosbag.CompressionNone), fields.Field{Key: "encrypted_key"}),
			giveKey(make([]byte, 16)), nil, "no encrypted_key",
		},
	} {
		_, err := bagfmt.NewReader(bytes.NewReader(tc.bag), int64(len(tc.bag)), bagfmt.ReaderOptions{UnwrapKey: tc.unwrap})
		_, err2 := bagfmt.NewScanner(bytes.NewReader(tc.bag), bagfmt.ScannerOptions{UnwrapKey: tc.unwrap})
		for _, err := range []error{err, err2} {
			var bad *rosbag.EncryptedError
			if !errors.Is(err, rosbag.ErrEncrypted) || !errors.As(err, &bad) || bad.User != "Ann" || !strings.Contains(err.Error(), tc.says) {
				t.Errorf("%s: %v", name, err)
			}
			if tc.want != nil && !errors.Is(err, tc.want) {
				t.Errorf("%s: %v does not match %v", name, err, tc.want)
			}
			if strings.Contains(err.Error(), "short") {
				t.Errorf("%s: the error tells the key: %v", name, err)
			}
		}
	}
	if h, err := bagfmt.ReadBagHeader(bytes.NewReader(b), int64(len(b))); err != nil || h.Connections != 3 {
		t.Errorf("bag header: %+v, %v", h, err)
	}
}

// TestEncryptedNotRewritten: Recover and Append leave encrypted bags alone, because
// they would mix them with what is plain.
func TestEncryptedNotRewritten(t *testing.T) {
	t.Parallel()
	b := newSealer(t, make([]byte, 16)).bag(t, sampleBag(t, rosbag.CompressionNone))
	var out memFile
	w, err := bagfmt.NewWriter(&out, bagfmt.WriterOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := recovery.Recover(bytes.NewReader(b), int64(len(b)), w, recovery.Options{}); !errors.Is(err, rosbag.ErrEncrypted) {
		t.Errorf("Recover: %v", err)
	}
	f := &appendable{memFile{b: bytes.Clone(b)}}
	if _, err := bagfmt.Append(f, int64(len(b)), bagfmt.WriterOptions{}); !errors.Is(err, rosbag.ErrEncrypted) || !bytes.Equal(f.b, b) {
		t.Errorf("Append: %v, or it has changed the bag", err)
	}
}

// appendable is a memFile that can be appended to.
type appendable struct{ memFile }

func (f *appendable) ReadAt(b []byte, off int64) (int, error) {
	return bytes.NewReader(f.b).ReadAt(b, off)
}

func (f *appendable) Truncate(size int64) error {
	f.b = f.b[:size]
	return nil
}

// TestEncryptedDamage: damage of encrypted data is told with its place, and costs no more
// than the record that has it.
func TestEncryptedDamage(t *testing.T) {
	t.Parallel()
	key := []byte("0123456789abcdef")
	s := newSealer(t, key)
	plain := sampleBag(t, rosbag.CompressionNone)
	b := s.bag(t, plain)
	all, _ := scanAll(t, plain)
	open := bagfmt.ReaderOptions{UnwrapKey: giveKey(key)}
	scan := bagfmt.ScannerOptions{UnwrapKey: giveKey(key)}
	second := recordsOf(t, cutIndex(t, b), 5)[1]
	without := len(all) - bytes.Count(recordsOf(t, plain, 5)[1].data, []byte("op=\x02")) // the second chunk

	replace := func(b []byte, data []byte) []byte { // of the second chunk, in a bag without its index
		c := recordsOf(t, cutIndex(t, b), 5)[1]
		return unclosed(t, slices.Concat(b[:c.dataAt], binary.LittleEndian.AppendUint32(nil, uint32(len(data))), data, b[c.dataAt+4+len(c.data):]))
	}
	lz4 := s.bag(t, sampleBag(t, rosbag.CompressionLZ4))
	records := recordsOf(t, plain, 5)[1].data
	filled := append(bytes.Clone(records), make([]byte, 16-len(records)%16)...) // with the right number at the end
	filled[len(filled)-1] = byte(len(filled) - len(records))
	padded := func(pad ...byte) []byte { // the records with such bytes at their end, in a whole number of blocks
		n := (len(records) + 16) / 16 * 16
		return s.sealPadded(slices.Concat(records, bytes.Repeat([]byte{99}, n-len(records)-len(pad)), pad))
	}
	for name, tc := range map[string]struct {
		bag  []byte
		at   int
		want int // messages
		says string
	}{
		"not whole blocks": {replace(b, second.data[:len(second.data)-1]), second.off, without, "want a multiple of 16"},
		"no block":         {replace(b, second.data[:16]), second.off, without, "encrypted data of 16 bytes"},
		"no records":       {replace(b, s.seal([]byte("\x05\x00\x00\x00these are none"))), second.off, without, "record at 0"},
		"padding of 0":     {replace(b, padded(0)), second.off, len(all), fmt.Sprint("record at ", len(records))},
		"padding of 17":    {replace(b, padded(17)), second.off, len(all), fmt.Sprint("record at ", len(records))},
		"padding of zeros": {replace(b, s.sealPadded(filled)), second.off, len(all), fmt.Sprint("record at ", len(records))},
		"padding of lz4":   {replace(lz4, s.sealPadded(make([]byte, 32))), recordsOf(t, cutIndex(t, lz4), 5)[1].off, without, "padding"},
		"length too large": {unclosed(t, setU32(b, second.dataAt, 1<<30)), second.off, without, "file ends"},
	} {
		for way, read := range map[string]func() ([]msg, []error){
			"reader":  func() ([]msg, []error) { return readWith(tc.bag, open, rosbag.Query{}) },
			"scanner": func() ([]msg, []error) { return scanWith(t, tc.bag, scan) },
		} {
			got, errs := read()
			if len(got) != tc.want && (way == "reader" || name != "length too large") {
				t.Errorf("%s, %s: %d messages, want %d of %d", name, way, len(got), tc.want, len(all))
			}
			told := slices.ContainsFunc(faults(errs), func(err error) bool {
				var bad *rosbag.CorruptError
				return errors.As(err, &bad) && bad.Offset == int64(tc.at) && strings.Contains(err.Error(), tc.says)
			})
			if !told && (way == "scanner" || tc.want < len(all)) { // a Reader looks at messages only
				t.Errorf("%s, %s: %v, want one about %d that says %q", name, way, errs, tc.at, tc.says)
			}
		}
	}

	// A length that reaches into the next chunk, which the index knows.
	got, errs := readWith(setU32(b, second.dataAt, uint32(len(second.data)+2000)), open, rosbag.Query{})
	if !slices.Equal(got, byTime(all)) || len(errs) != 1 || !strings.Contains(errs[0].Error(), "chunk at") {
		t.Errorf("length into the next chunk: %d messages, want %d: %v", len(got), len(all), errs)
	}

	// Encrypted records of other kinds than connections are no records.
	strange := slices.Concat(unclosed(t, cutIndex(t, b)), s.sealedRecord(fields.List{
		{Key: "op", Value: "\x02"}, {Key: "conn", Value: u32s(0)}, {Key: "time", Value: u32s(1, 0)},
	}.Append(nil), []byte("data")))
	for way, read := range map[string]func() ([]msg, []error){
		"reader":  func() ([]msg, []error) { return readWith(strange, open, rosbag.Query{}) },
		"scanner": func() ([]msg, []error) { return scanWith(t, strange, scan) },
	} {
		if got, errs := read(); len(got) != len(all) || len(faults(errs)) == 0 {
			t.Errorf("encrypted message, %s: %d messages, want %d: %v", way, len(got), len(all), errs)
		}
	}

	// The index section: the header or the data of a connection record.
	index := len(cutIndex(t, b))
	header := int(binary.LittleEndian.Uint32(b[index:]))
	for name, at := range map[string]int{"header": index + 4 + header - 1, "data": index + 4 + header + 4 + 20} {
		bag := flipped(b, at, 0x10)
		if _, err := bagfmt.NewReader(bytes.NewReader(bag), int64(len(bag)), bagfmt.ReaderOptions{IndexOnly: true, UnwrapKey: giveKey(key)}); !errors.Is(err, rosbag.ErrCorrupt) {
			t.Errorf("%s of a connection: %v", name, err)
		}
		if got, _ := readWith(bag, open, rosbag.Query{}); len(got) != len(all) {
			t.Errorf("%s of a connection: %d messages, want %d", name, len(got), len(all))
		}
		if got, errs := scanWith(t, bag, scan); len(got) != len(all) || len(errs) > 1 {
			t.Errorf("%s of a connection, scanner: %d messages, want %d; %v", name, len(got), len(all), errs)
		}
	}

	// Another key makes nothing of anything, and nothing panics.
	other := giveKey(make([]byte, 16))
	for _, bag := range [][]byte{b, unclosed(t, b)} {
		got, errs := readWith(bag, bagfmt.ReaderOptions{UnwrapKey: other}, rosbag.Query{})
		if len(got) > 0 || len(errs) == 0 {
			t.Errorf("wrong key: %d messages, %v", len(got), errs)
		}
		got, errs = scanWith(t, bag, bagfmt.ScannerOptions{UnwrapKey: other})
		if len(got) > 0 || len(errs) == 0 {
			t.Errorf("wrong key, scanner: %d messages, %v", len(got), errs)
		}
	}
}

// TestEncryptedCut cuts encrypted bags at every place: what comes is a beginning of the
// messages, and of an uncompressed chunk that is cut every whole message that is decrypted.
func TestEncryptedCut(t *testing.T) {
	testkit.SkipInRace(t, "one goroutine damages a bag at place after place")
	t.Parallel()
	key := []byte("0123456789abcdef")
	for _, comp := range compressions {
		plain := sampleBag(t, comp)
		all, _ := scanAll(t, plain)
		b := newSealer(t, key).bag(t, plain)
		for n := range cuts(b, 3) {
			cut := b[:n:n]
			want, errs := scanWith(t, cut, bagfmt.ScannerOptions{UnwrapKey: giveKey(key)})
			if len(want) > len(all) || !slices.Equal(want, all[:len(want)]) {
				t.Fatalf("%s cut at %d: the scanner gives %d messages that are not the first", comp, n, len(want))
			}
			for _, err := range errs {
				if !typed(err) {
					t.Fatalf("%s cut at %d: untyped error %v", comp, n, err)
				}
			}
			got, errs := readWith(cut, bagfmt.ReaderOptions{UnwrapKey: giveKey(key)}, rosbag.Query{})
			if !slices.Equal(byTime(want), got) {
				t.Fatalf("%s cut at %d: %d messages, the scanner gives %d: %v", comp, n, len(got), len(want), errs)
			}
			for _, err := range errs {
				if !typed(err) {
					t.Fatalf("%s cut at %d: untyped error %v", comp, n, err)
				}
			}
		}
		if comp != rosbag.CompressionNone {
			continue
		}
		// All but the last block of a chunk: all its messages but the last.
		chunk := recordsOf(t, cutIndex(t, b), 5)[0]
		inChunk := bytes.Count(recordsOf(t, plain, 5)[0].data, []byte("op=\x02"))
		n := chunk.dataAt + 4 + len(chunk.data) - 17
		if got, errs := readWith(b[:n:n], bagfmt.ReaderOptions{UnwrapKey: giveKey(key)}, rosbag.Query{}); len(got) != inChunk-1 {
			t.Errorf("cut at %d: %d messages, want %d: %v", n, len(got), inChunk-1, errs)
		}
	}
}

// TestEncryptedLengths: what a length claims is not allocated before it is there. Not parallel:
// it counts what the process allocates.
func TestEncryptedLengths(t *testing.T) {
	key := make([]byte, 16)
	b := newSealer(t, key).bag(t, sampleBag(t, rosbag.CompressionNone))
	chunk := recordsOf(t, cutIndex(t, b), 5)[0]
	index := len(cutIndex(t, b))
	for name, bag := range map[string][]byte{
		"chunk":             setU32(b, chunk.dataAt, 1<<31-16),
		"connection header": setU32(b, index, 1<<20),
		"connection data":   setU32(b, index+4+int(binary.LittleEndian.Uint32(b[index:])), 2<<20),
	} {
		for _, bag := range [][]byte{bag, unclosed(t, bag)} {
			checkAllocs(t, bag, func() {
				_, errs := scanWith(t, bag, bagfmt.ScannerOptions{UnwrapKey: giveKey(key)})
				_, more := readWith(bag, bagfmt.ReaderOptions{UnwrapKey: giveKey(key)}, rosbag.Query{})
				for _, err := range slices.Concat(errs, more) {
					if !typed(err) {
						t.Errorf("%s: untyped error %v", name, err)
					}
				}
			})
		}
	}
}

// FuzzEncrypted: any bytes as the data of an encrypted chunk and as the encrypted header and
// data of a connection record, before or after encryption, end in messages and typed errors.
// A Reader and a Scanner see the same messages.
func FuzzEncrypted(f *testing.F) {
	key := []byte("0123456789abcdef")
	for n, comp := range compressions {
		plain := sampleBag(f, comp)
		chunk, conn := recordsOf(f, plain, 5)[0], recordsOf(f, plain, 7)[0]
		header := plain[conn.off+4 : conn.dataAt]
		f.Add(uint8(n), true, binary.LittleEndian.Uint32(plain[chunk.fields["size"]:]), chunk.data, header, conn.data)
		s := newSealer(f, key)
		f.Add(uint8(n), false, uint32(1<<20), s.seal(chunk.data), s.seal(header), s.seal(conn.data))
		f.Add(uint8(n), false, uint32(0), s.seal(chunk.data)[:33], s.seal(header)[:31], s.seal(conn.data)[:16])
	}
	f.Fuzz(func(t *testing.T, n uint8, seal bool, size uint32, chunk, header, conn []byte) {
		s := newSealer(t, key)
		if seal {
			chunk, header, conn = s.seal(chunk), s.seal(header), s.seal(conn)
		}
		comp := compressions[int(n)%3]
		b := []byte("#ROSBAG V2.0\n")
		head := rec(fields.List{
			{Key: "op", Value: "\x03"},
			{Key: "index_pos", Value: u32s(0, 0)},
			{Key: "conn_count", Value: u32s(1)},
			{Key: "chunk_count", Value: u32s(1)},
			{Key: "encryptor", Value: "rosbag/AesCbcEncryptor"},
			{Key: "encrypted_key", Value: "wrapped"},
		}, bytes.Repeat([]byte(" "), 100))
		b = append(b, head...)
		chunkPos := uint32(len(b))
		b = append(b, rec(fields.List{{Key: "op", Value: "\x05"}, {Key: "compression", Value: string(comp)}, {Key: "size", Value: u32s(size)}}, chunk)...)
		b = append(b, rec(fields.List{
			{Key: "op", Value: "\x04"}, {Key: "ver", Value: u32s(1)}, {Key: "conn", Value: u32s(0)}, {Key: "count", Value: u32s(1)},
		}, []byte(u32s(0, 0, 0)))...)
		indexPos := len(b)
		b = binary.LittleEndian.AppendUint32(b, uint32(len(header)))
		b = append(b, header...)
		b = binary.LittleEndian.AppendUint32(b, uint32(len(conn)))
		b = append(b, conn...)
		b = append(b, rec(fields.List{
			{Key: "op", Value: "\x06"},
			{Key: "ver", Value: u32s(1)},
			{Key: "chunk_pos", Value: u32s(chunkPos, 0)},
			{Key: "start_time", Value: u32s(0, 0)},
			{Key: "end_time", Value: u32s(1<<31, 0)},
			{Key: "count", Value: u32s(1)},
		}, []byte(u32s(0, 1)))...)
		scanned, errs := scanWith(t, b, bagfmt.ScannerOptions{MaxChunkBytes: fuzzChunkBytes, UnwrapKey: giveKey(key)})
		read, more := readWith(b, bagfmt.ReaderOptions{MaxChunkBytes: fuzzChunkBytes, UnwrapKey: giveKey(key)}, rosbag.Query{})
		indexed := setU64(b, cutRecord(t, b, 13).fields["index_pos"], uint64(indexPos))
		_, most := readWith(indexed, bagfmt.ReaderOptions{MaxChunkBytes: fuzzChunkBytes, UnwrapKey: giveKey(key)}, rosbag.Query{})
		for _, err := range slices.Concat(errs, more, most) {
			if !typed(err) {
				t.Fatalf("untyped error %v", err)
			}
		}
		if len(errs) == 0 && !slices.Equal(sorted(scanned), sorted(read)) {
			t.Fatalf("the scanner gives %d messages, the reader %d: %v", len(scanned), len(read), more)
		}
	})
}

// ExampleEncryption asks for the key of an encrypted bag.
func ExampleEncryption() {
	b, err := os.ReadFile("testdata/encrypted/cpp_lz4.bag")
	if err != nil {
		fmt.Println(err)
		return
	}
	r, err := bagfmt.NewReader(bytes.NewReader(b), int64(len(b)), bagfmt.ReaderOptions{
		UnwrapKey: func(e rosbag.Encryption) ([]byte, error) {
			fmt.Println("wrapped for", e.User)
			return hex.DecodeString(stockKeys["cpp_lz4"]) // or what gpg --decrypt makes of e.WrappedKey
		},
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(r.Info().Messages, "messages")
	// Output:
	// wrapped for gorosbag test
	// 27 messages
}
