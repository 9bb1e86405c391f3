package s3

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/xml"
	"errors"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"

	"golang.org/x/sync/errgroup"

	"github.com/gorosbag/gorosbag/internal/cloud/store/internal/put"
	"github.com/gorosbag/gorosbag/internal/cloud/store/internal/response"
	"github.com/gorosbag/gorosbag/internal/cloud/store/place"
)

// partsInFlight is the number of concurrent part uploads. It bounds memory: each has a buffer.
const partsInFlight = 3

// PartBytes implements driver.Bucket.
func (b *Bucket) PartBytes(size int64) int64 { return put.PartBytes(size) }

// Put implements driver.Bucket.
func (b *Bucket) Put(ctx context.Context, key string, f *put.File) error {
	if f.Parts() > 1 {
		return b.putParts(ctx, key, f)
	}
	return b.putObject(ctx, key, f)
}

// header returns the headers that an object gets.
func (b *Bucket) header(f *put.File) map[string]string {
	h := map[string]string{
		"Content-Type":                                put.ContentType,
		"X-Amz-Server-Side-Encryption":                b.encryption,
		"X-Amz-Server-Side-Encryption-Aws-Kms-Key-Id": b.kmsKey,
	}
	for name, value := range f.AllMetadata() {
		h[metaPrefix+name] = value
	}
	return h
}

// putObject uploads a small file with one request. Its SHA-256 is known, so it is signed.
func (b *Bucket) putObject(ctx context.Context, key string, f *put.File) error {
	h := b.header(f)
	b.addSums(h, f, 0)
	setExclusive(h, f)
	resp, err := b.do(ctx, &request{
		method: http.MethodPut, key: key, header: h, size: f.Size, hash: f.SHA256, once: !f.Small,
		body: func() io.Reader { return io.NewSectionReader(f, 0, f.Size) },
	})
	if err != nil {
		return err
	}
	return resp.Body.Close()
}

// addSums adds the checksums of a part to the headers of its request.
func (b *Bucket) addSums(h map[string]string, f *put.File, part int) {
	sum := f.PartMD5(part)
	h["Content-Md5"] = base64.StdEncoding.EncodeToString(sum[:])
	if b.checksums {
		h[checksumHeader] = crc32c(f.PartCRC(part))
	}
}

// setExclusive adds the condition of an upload that must not overwrite.
func setExclusive(h map[string]string, f *put.File) {
	if f.Exclusive {
		h["If-None-Match"] = "*"
	}
}

// completed is a part that the store has.
type completed struct {
	XMLName  xml.Name `xml:"Part"`
	Number   int      `xml:"PartNumber"`
	ETag     string   `xml:"ETag"`
	Checksum string   `xml:"ChecksumCRC32C,omitempty"`
}

// multipartUpload is the state of an upload in parts.
type multipartUpload struct {
	*Bucket
	f    *put.File
	key  string
	done []completed // those with an ETag are in the store

	// sums is set if the store keeps the checksums of parts, and needs them again at the end. Stores that
	// do not keep them reject them there.
	sums bool
}

// putParts uploads a large file in parts. It skips parts that the store has from an interrupted upload.
func (b *Bucket) putParts(ctx context.Context, key string, f *put.File) error {
	p := &multipartUpload{Bucket: b, f: f, key: key, done: make([]completed, f.Parts())}
	if err := p.resume(ctx); err != nil {
		return err
	}
	if err := p.send(ctx); err != nil {
		return err
	}
	body, err := xml.Marshal(struct {
		XMLName xml.Name `xml:"http://s3.amazonaws.com/doc/2006-03-01/ CompleteMultipartUpload"`
		Parts   []completed
	}{Parts: p.done})
	if err != nil {
		return err
	}
	h := map[string]string{"Content-Type": "application/xml"}
	setExclusive(h, f)
	r := p.request(http.MethodPost, url.Values{"uploadId": {f.Upload}}, h, body)
	resp, err := b.do(ctx, r)
	if err != nil {
		return err
	}
	return decode(resp, "CompleteMultipartUploadResult", new(struct{ ETag string }))
}

// request returns a request about the upload.
func (p *multipartUpload) request(method string, query url.Values, header map[string]string,
	body []byte,
) *request {
	r := &request{method: method, key: p.key, query: query, header: header, size: int64(len(body))}
	if body != nil {
		r.body = func() io.Reader { return bytes.NewReader(body) }
		r.hashes = func() string {
			sum := sha256.Sum256(body)
			return hex.EncodeToString(sum[:])
		}
	}
	return r
}

// resume finds the parts that the store has, and begins a new upload if there is none.
func (p *multipartUpload) resume(ctx context.Context) error {
	if p.f.Upload != "" {
		err := p.listParts(ctx)
		var said *Error
		gone := errors.As(err, &said) &&
			(said.Code == "NoSuchUpload" || said.Status == http.StatusNotFound && said.Code != "NoSuchBucket")
		if err == nil || !gone && !errors.Is(err, errOtherSums) {
			return err
		}
		clear(p.done)
	}
	h := p.header(p.f)
	if p.checksums {
		h["X-Amz-Checksum-Algorithm"] = algorithm
	}
	resp, err := p.do(ctx, p.request(http.MethodPost, url.Values{"uploads": {""}}, h, nil))
	if err != nil {
		return err
	}
	var begun struct {
		UploadID string `xml:"UploadId"`
	}
	p.sums = p.checksums && resp.Header.Get("X-Amz-Checksum-Algorithm") == algorithm
	if err := decode(resp, "InitiateMultipartUploadResult", &begun); err != nil {
		return err
	}
	if begun.UploadID == "" {
		return place.BadResponse("the server begins a multipart upload, but does not say which")
	}
	p.f.Upload = begun.UploadID
	return p.f.OnUpload(p.f.Upload)
}

// errOtherSums means that an interrupted upload has checksums of another algorithm.
var errOtherSums = errors.New("checksums of another algorithm")

// listParts records the parts that the store has with the right size and checksum.
func (p *multipartUpload) listParts(ctx context.Context) error {
	ctx = response.WithPages(ctx)
	query := url.Values{"uploadId": {p.f.Upload}, "max-parts": {"1000"}}
	for {
		resp, err := p.do(ctx, p.request(http.MethodGet, query, nil, nil))
		if err != nil {
			return err
		}
		var page struct {
			Algorithm   string `xml:"ChecksumAlgorithm"` // versitygw has "null" for none
			IsTruncated bool
			Next        string `xml:"NextPartNumberMarker"`
			Part        []struct {
				PartNumber     int
				Size           int64
				ETag           string
				ChecksumCRC32C string
			}
		}
		if err := decode(resp, "ListPartsResult", &page); err != nil {
			return err
		}
		p.sums = page.Algorithm == algorithm
		if !p.sums && page.Algorithm != "" && page.Algorithm != "null" || p.sums && !p.checksums {
			return errOtherSums
		}
		for _, part := range page.Part {
			n := part.PartNumber - 1
			if n < 0 || n >= len(p.done) || part.Size != p.f.PartLength(n) || p.sums &&
				part.ChecksumCRC32C == "" {
				continue
			}
			if sum := p.f.PartMD5(n); strings.Trim(part.ETag, `"`) == hex.EncodeToString(sum[:]) {
				p.done[n] = completed{Number: n + 1, ETag: part.ETag}
				if p.sums {
					p.done[n].Checksum = part.ChecksumCRC32C
				}
			}
		}
		if !page.IsTruncated || page.Next == "" {
			return nil
		}
		query.Set("part-number-marker", page.Next)
	}
}

// send uploads the parts that are missing. The file is read by the caller's goroutine,
// one part after the other.
func (p *multipartUpload) send(ctx context.Context) error {
	buffers := make(chan []byte, partsInFlight)
	for range partsInFlight {
		buffers <- nil // allocated on demand
	}
	group, ctx := errgroup.WithContext(ctx)
	for n := range p.done {
		if p.done[n].ETag != "" {
			continue
		}
		var buf []byte
		select {
		case buf = <-buffers:
		case <-ctx.Done():
			return errors.Join(group.Wait(), ctx.Err())
		}
		data, err := p.f.ReadPart(n, buf)
		if err != nil {
			return errors.Join(err, group.Wait())
		}
		// owner: send; ends when the part is uploaded or with ctx.
		group.Go(func() error {
			defer func() { buffers <- data }()
			return p.sendPart(ctx, n, data)
		})
	}
	return group.Wait()
}

func (p *multipartUpload) sendPart(ctx context.Context, n int, data []byte) error {
	h := map[string]string{}
	p.addSums(h, p.f, n)
	query := url.Values{"uploadId": {p.f.Upload}, "partNumber": {strconv.Itoa(n + 1)}}
	resp, err := p.do(ctx, p.request(http.MethodPut, query, h, data))
	if err != nil {
		return err
	}
	resp.Body.Close() //nolint:errcheck,gosec // nothing in it
	done := completed{Number: n + 1, ETag: resp.Header.Get("Etag")}
	if p.sums {
		done.Checksum = resp.Header.Get(checksumHeader)
	}
	if done.ETag == "" || p.sums && done.Checksum == "" {
		return place.BadResponse("the server accepts a part of an upload, but does not report its checksum")
	}
	p.done[n] = done
	return nil
}
