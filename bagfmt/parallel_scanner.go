package bagfmt

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"errors"
	"io"

	"github.com/gorosbag/gorosbag/bagfmt/internal/codec"
	"github.com/gorosbag/gorosbag/bagfmt/internal/load"
	"github.com/gorosbag/gorosbag/bagfmt/internal/wire"
	"github.com/gorosbag/gorosbag/rosbag"
)

const (
	scanAheadBytes = 128 << 20 // stored and unpacked chunks that a Scanner holds at most before it comes to them
	scanPieceBytes = 1 << 20   // a record that is not a chunk is read ahead up to this size
)

// scanAhead is the input of a Scanner that unpacks chunks before the Scanner comes to
// them. It finds them by looking at record headers. The Scanner reads the same bytes
// as without, judges them itself, and may take a chunk instead of reading its data;
// so its errors stay the same. What scanAhead does not understand it passes on.
//
// From the first packed chunk on fetch reads the file on its own goroutine, so that
// the Scanner never waits for more than it needs itself. fetch ends before a record
// that is better read where it is needed.
type scanAhead struct {
	// Of fetch while it runs, else of the Scanner.
	r      *bufio.Reader
	off    int64 // of what r delivers next
	err    error // what r failed with: it may not fail twice
	header wire.RecordHeader
	open   *scanPiece // read and not yet handed over

	// Of the Scanner.
	state   scanState
	running bool       // fetch runs, or has ended and the nil it left is not received yet
	first   *scanPiece // received and not yet consumed
	pass    int64      // bytes to pass on before the next record

	limit   int64             // bytes of a chunk, stored or unpacked; larger ones are passed on, as are those that are not packed
	pieces  chan *scanPiece   // from fetch, in file order; nil is the end of fetch
	stop    chan struct{}     // closed to end fetch
	loaders chan *load.Loader // the idle ones
	idle    chan *scanPiece   // memory for chunks: there are as many as may be ahead
	spare   chan *scanPiece   // memory for other pieces
}

// scanState says how far the input of a Scanner is known to be a bag.
type scanState uint8

const (
	scanVersion scanState = iota // the version line comes next
	scanHeader                   // the bag header comes next
	scanRecords                  // records come next
	scanPlain                    // all that follows is to be passed on
)

// scanPiece is a range of the file: the data of one chunk or what is between two.
type scanPiece struct {
	bytes  []byte
	read   int // of bytes
	place  wire.ChunkPlace
	chunk  bool   // bytes is the whole data of the chunk at place, and done gets a token
	memory []byte // for data, if it is enough
	data   []byte // unpacked
	err    error
	done   chan struct{} // gets one token when data or err is set; nil for pieces that are no chunk
}

func newScanAhead(r io.Reader, o ScannerOptions) *scanAhead {
	n := min(o.Workers, wire.MaxWorkers)
	a := &scanAhead{
		r:       bufio.NewReaderSize(r, wire.StreamBufferBytes),
		limit:   min(o.MaxChunkBytes, scanAheadBytes/2/int64(n)),
		pieces:  make(chan *scanPiece, 2*n),
		stop:    make(chan struct{}),
		loaders: make(chan *load.Loader, n),
		idle:    make(chan *scanPiece, n),
		spare:   make(chan *scanPiece, n),
	}
	for range n {
		a.loaders <- &load.Loader{Unpack: codec.Decompressor{Interrupted: o.Interrupted}}
		a.idle <- &scanPiece{done: make(chan struct{}, 1)}
	}
	return a
}

// Read returns what comes next in the file, never bytes on both sides of the start of
// a packed chunk's data.
func (a *scanAhead) Read(b []byte) (int, error) {
	if p := a.next(); p != nil {
		n := copy(b, p.bytes[p.read:])
		if p.read += n; p.read == len(p.bytes) {
			a.drop()
		}
		return n, nil
	}
	if a.state != scanPlain {
		b = b[:min(int64(len(b)), a.pass)]
	}
	if a.err != nil && a.r.Buffered() == 0 {
		return 0, a.err
	}
	n, err := a.r.Read(b)
	a.off += int64(n)
	a.pass -= int64(n)
	return n, err
}

// next waits for the piece that comes next and returns it, nil if what comes next is
// to be passed on.
func (a *scanAhead) next() *scanPiece {
	for a.first == nil {
		if !a.running && !a.begin() {
			return nil
		}
		p := <-a.pieces
		a.running = p != nil
		if a.first = p; p != nil && len(p.bytes) == 0 {
			a.drop()
		}
	}
	return a.first
}

// begin starts fetch if a packed chunk comes next. Everything else is to be passed on.
func (a *scanAhead) begin() bool {
	if a.state == scanPlain || a.pass > 0 {
		return false
	}
	if a.state == scanVersion {
		a.version()
		return false
	}
	n, p, ok := a.look()
	switch {
	case !ok, a.state == scanHeader && (a.header.Op != rosbag.OpBagHeader || // so that NewScanner starts nothing
		string(a.header.Encryptor) == wire.AESEncryptor):
		a.state = scanPlain
		return false
	case a.state == scanHeader:
		a.state = scanRecords
	}
	if p == nil {
		a.pass = n
		return false
	}
	a.running = true
	// owner: Scanner; ends before a record that is not for it, or with stop, and Close
	// waits for that.
	go a.fetch()
	return true
}

// version passes the version line on, if records follow it.
func (a *scanAhead) version() {
	a.state = scanPlain
	for n := len(wire.VersionPrefix) + 2; n <= wire.MaxVersionLineBytes; n++ { // no byte more than there may be
		line, ok := a.peek(n)
		if !ok || !bytes.HasPrefix(line, []byte(wire.VersionPrefix+"2.")) {
			return
		}
		if line[n-1] == '\n' {
			a.state, a.pass = scanHeader, int64(n)
			return
		}
	}
}

// peek returns the next n bytes without reading them, or reports false.
func (a *scanAhead) peek(n int) ([]byte, bool) {
	if a.r.Buffered() < n {
		a.flush() // the rest may take long to come
	}
	b, err := a.r.Peek(n)
	if err != nil {
		a.err = err
	}
	return b, err == nil
}

// look parses the header of the next record, and returns the length of the record, for
// a chunk that is worth a worker also its place, of the length only what comes before
// its data. It reports false if it does not understand the header.
func (a *scanAhead) look() (n int64, p *wire.ChunkPlace, ok bool) {
	word, ok := a.peek(4)
	if !ok {
		return 0, nil, false
	}
	headerBytes := int64(binary.LittleEndian.Uint32(word))
	if headerBytes > wire.FirstHeadBytes {
		return 0, nil, false
	}
	n = headerBytes + wire.MinRecordBytes
	head, ok := a.peek(int(n))
	h := &a.header
	if !ok || h.Parse(head[4:4+headerBytes]) != nil {
		return 0, nil, false
	}
	data := int64(binary.LittleEndian.Uint32(head[4+headerBytes:]))
	if h.Op != rosbag.OpChunk {
		return n + data, nil, true
	}
	place := wire.ChunkPlace{
		Pos: a.off, Data: a.off + n, Stored: data, Size: int64(h.Size),
		Compression: wire.CompressionNamed(h.Compression), CRC: h.CRC, Checked: h.Has&wire.HasCRC32C != 0, Op: rosbag.OpChunk,
	}
	packed := place.Compression == rosbag.CompressionLZ4 || place.Compression == rosbag.CompressionBZ2
	if !packed || data == 0 || max(data, place.Size) > a.limit { // the checksum alone is not worth another core
		return n + data, nil, true
	}
	return n, &place, true
}

// fetch reads records ahead. It ends before one that is not for it, and when it cannot
// read on.
func (a *scanAhead) fetch() {
	for a.record() {
		select {
		case <-a.stop:
			a.flush()
			a.pieces <- nil
			return
		default:
		}
	}
	a.flush()
	a.pieces <- nil
}

// record reads one record ahead, if it is for fetch.
func (a *scanAhead) record() bool {
	n, place, ok := a.look()
	if !ok || place == nil && (n > scanPieceBytes || a.header.Op == rosbag.OpMessage || a.header.Op == rosbag.OpChunk) {
		return false
	}
	return a.piece(n) && (place == nil || a.chunk(place))
}

// piece reads n bytes that are not the data of a chunk. It reports false if the file
// ends, or cannot be read, before.
func (a *scanAhead) piece(n int64) bool {
	if int64(a.r.Buffered()) < n || a.open != nil && len(a.open.bytes) > wire.StreamBufferBytes {
		a.flush()
	}
	if a.open == nil {
		select {
		case a.open = <-a.spare:
		default:
			a.open = new(scanPiece)
		}
	}
	p := a.open
	at := len(p.bytes)
	if cap(p.bytes)-at < int(n) {
		p.bytes = append(make([]byte, 0, 2*at+int(n)), p.bytes...)
	}
	return a.read(p, n)
}

// read adds the next n bytes to p, as far as there are as many.
func (a *scanAhead) read(p *scanPiece, n int64) bool {
	at := len(p.bytes)
	b, err := wire.Fill(a.r, n, p.bytes[at:])
	p.bytes = append(p.bytes, b...) // in place if it was enough
	a.off += int64(len(b))
	if errors.Is(err, io.ErrUnexpectedEOF) {
		err = io.EOF
	}
	a.err = err
	return err == nil
}

// flush hands over what is read.
func (a *scanAhead) flush() {
	if a.open != nil {
		a.pieces <- a.open
		a.open = nil
	}
}

// chunk reads the data of the chunk at place, and has it unpacked.
func (a *scanAhead) chunk(place *wire.ChunkPlace) bool {
	a.flush()
	p := <-a.idle
	p.place = *place
	if int64(cap(p.bytes)) < place.Stored { // no more of it at once than a length word may claim
		p.bytes = make([]byte, 0, min(place.Stored, wire.FirstReadBytes))
	}
	p.chunk = a.read(p, place.Stored)
	if p.chunk {
		// owner: Scanner; ends when the chunk is unpacked, and drop, take or Close waits for
		// that.
		go func() {
			l := <-a.loaders
			l.Memory = p.memory
			p.data, p.err = l.Open(&p.place, p.bytes)
			p.memory, l.Memory = l.Memory, nil
			a.loaders <- l
			p.done <- struct{}{}
		}()
	}
	whole := p.chunk // p is not ours from here on
	a.pieces <- p
	return whole
}

// drop ends the use of the first piece.
func (a *scanAhead) drop() {
	p := a.first
	a.first = nil
	if p.chunk {
		<-p.done
	}
	*p = scanPiece{bytes: p.bytes[:0], memory: p.memory, done: p.done}
	if p.done != nil {
		a.idle <- p
		return
	}
	select {
	case a.spare <- p:
	default:
	}
}

// take returns the chunk at place, if it was unpacked ahead and its data is what comes
// next, and passes over it. spent is memory that other chunks may be unpacked into.
func (a *scanAhead) take(place *wire.ChunkPlace, spent []byte) (data []byte, ok bool, err error) {
	p := a.next()
	if p == nil || !p.chunk || p.read > 0 {
		return nil, false, nil
	}
	q := p.place
	if q.Data, q.Op = place.Data, place.Op; q != *place {
		return nil, false, nil
	}
	<-p.done
	p.chunk = false
	data, err = p.data, p.err
	if int64(cap(spent)) <= a.limit {
		p.memory = spent
	}
	a.drop()
	return data, true, err
}

// close ends fetch and waits for the workers.
func (a *scanAhead) close() {
	if a.first != nil {
		a.drop()
	}
	if a.running {
		close(a.stop)
		for a.first = <-a.pieces; a.first != nil; a.first = <-a.pieces {
			a.drop()
		}
		a.running = false
	}
	a.state = scanPlain
}

// readChunkAhead is readChunk for a chunk that was unpacked ahead.
func (s *Scanner) readChunkAhead(p *wire.ChunkPlace) (ok bool, err error) {
	if s.ahead == nil || s.s.R.Buffered() > 0 {
		return false, nil
	}
	data, ok, err := s.ahead.take(p, s.reusable)
	if !ok {
		return false, nil
	}
	s.reusable = nil
	s.s.Off += p.Stored
	s.good = s.s.Off
	s.chunk.walk, s.chunk.complete = wire.ChunkWalk{Data: data}, err == nil
	s.keep(data)
	return true, err
}

var errScannerClosed = errors.New("scanner closed")

// Close ends what ScannerOptions.Workers began: when it returns no goroutine of the
// Scanner is left. For that it waits for a Read that is under way, which from a pipe may
// take long: close the pipe first. Next then returns an error. Close is harmless without
// Workers, and twice. It does not close the reader.
func (s *Scanner) Close() {
	s.closed = true
	s.chunk.walk.Data = nil
	if s.ahead != nil {
		s.ahead.close()
	}
}
