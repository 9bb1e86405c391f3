//go:build !nocloud

package store

import (
	"bytes"
	"context"
	"crypto/md5" //nolint:gosec // what stores compare uploads with; not for security
	"encoding/base64"
	"encoding/hex"
	"errors"
	"hash/crc32"
	"io"
	"net/http"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/aws-sdk-go-v2/service/s3/types"
	_ "gocloud.dev/blob/s3blob" // s3://
	"golang.org/x/sync/errgroup"
)

// s3Sender uploads to S3 over the client of the driver, which itself cannot take up an
// upload that broke off.
type s3Sender struct {
	*Bucket
	client *s3.Client
	sse    encryption
}

// senderOf returns what uploads to a bucket of S3, nil for another store.
func senderOf(b *Bucket) sender {
	var client *s3.Client
	if !b.bucket.As(&client) {
		return nil
	}
	return &s3Sender{b, b.watched(client), encryptionOf(b.at)}
}

// put implements sender.
func (b *s3Sender) put(ctx context.Context, f *File) error {
	if len(f.parts) > 1 {
		return b.putParts(ctx, f)
	}
	return b.putObject(ctx, f)
}

// atOnce is how many parts are under way at the same time. With the buffers of their
// bytes it bounds memory.
const atOnce = 3

// idle is how long a request may make no progress.
const idle = 2 * time.Minute

// encryption is what the URL asks the store to encrypt with.
type encryption struct {
	kind types.ServerSideEncryption
	key  *string
}

// encryptionOf reads the parameters that s3blob checks and keeps to itself.
func encryptionOf(at location) encryption {
	var e encryption
	q := at.url.Query()
	for _, kind := range e.kind.Values() {
		if strings.EqualFold(string(kind), q.Get("ssetype")) {
			e.kind = kind
		}
	}
	if key := q.Get("kmskeyid"); key != "" {
		e.key = &key
	}
	return e
}

// watched makes a client whose requests keep to the limit, are counted, and end when
// nothing moves.
func (b *Bucket) watched(c *s3.Client) *s3.Client {
	return s3.New(c.Options(), func(o *s3.Options) { o.HTTPClient = &watch{b: b, next: o.HTTPClient} })
}

type watch struct {
	b    *Bucket
	next s3.HTTPClient
}

// Do implements s3.HTTPClient.
func (w *watch) Do(req *http.Request) (*http.Response, error) {
	ctx, cancel := context.WithCancelCause(req.Context())
	timer := time.AfterFunc(idle, func() { cancel(errIdle) })
	req = req.WithContext(ctx)
	if req.Body != nil && req.Body != http.NoBody {
		req.Body = &moving{Reader: &slow{ctx: ctx, b: w.b, r: req.Body}, Closer: req.Body, timer: timer}
	}
	resp, err := w.next.Do(req)
	if err != nil {
		timer.Stop()
		cause := context.Cause(ctx)
		cancel(nil)
		if errors.Is(cause, errIdle) {
			return nil, errIdle
		}
		return nil, err
	}
	resp.Body = &moving{Reader: resp.Body, Closer: resp.Body, timer: timer, end: func() { cancel(nil) }}
	return resp, nil
}

var errIdle = errors.New("nothing moved for two minutes")

// moving puts off the end of a request as long as bytes move.
type moving struct {
	io.Reader
	io.Closer
	timer *time.Timer
	end   func() // nil for the body of a request
}

// Read implements io.Reader.
func (m *moving) Read(p []byte) (int, error) {
	m.timer.Reset(idle)
	return m.Reader.Read(p)
}

// Close implements io.Closer.
func (m *moving) Close() error {
	err := m.Closer.Close()
	if m.end != nil {
		m.timer.Stop()
		m.end()
	}
	return err
}

// putObject uploads a small file with one request. It is not repeated here: an answer
// that got lost would make it come twice.
func (b *s3Sender) putObject(ctx context.Context, f *File) error {
	_, err := b.client.PutObject(ctx, &s3.PutObjectInput{
		Bucket: &b.at.url.Host, Key: aws.String(b.key(f.Name)),
		Body:          io.NewSectionReader(f, 0, f.Size),
		ContentLength: &f.Size, ContentMD5: base64MD5(f.parts[0].md5), ContentType: aws.String(contentType),
		Metadata:             map[string]string{metaSHA256: f.SHA256},
		ServerSideEncryption: b.sse.kind, SSEKMSKeyId: b.sse.key,
	}, func(o *s3.Options) { o.Retryer = aws.NopRetryer{} })
	return err
}

func base64MD5(sum [md5.Size]byte) *string {
	return aws.String(base64.StdEncoding.EncodeToString(sum[:]))
}

// putParts uploads a large file in parts, but not those that the store has already
// from an upload that broke off.
func (b *s3Sender) putParts(ctx context.Context, f *File) error {
	p := &partial{s3Sender: b, f: f, key: b.key(f.Name), done: make([]types.CompletedPart, len(f.parts))}
	if err := p.takeUp(ctx); err != nil {
		return err
	}
	if err := p.send(ctx); err != nil {
		return err
	}
	_, err := b.client.CompleteMultipartUpload(ctx, &s3.CompleteMultipartUploadInput{
		Bucket: &b.at.url.Host, Key: &p.key, UploadId: &f.Upload, MultipartUpload: &types.CompletedMultipartUpload{Parts: p.done},
	})
	return err
}

// partial is an upload in parts.
type partial struct {
	*s3Sender
	f    *File
	key  string
	done []types.CompletedPart // those with an ETag are in the store

	// checksums says that the store keeps those of the parts that the SDK sends, and wants
	// to be told them at the end. One that does not keep them takes them for wrong.
	checksums bool
}

// takeUp asks the store what it has of the upload, and begins one where it has none.
func (p *partial) takeUp(ctx context.Context) error {
	if p.f.Upload != "" {
		err := p.list(ctx)
		var gone *types.NoSuchUpload
		if err == nil || !errors.As(err, &gone) && !errors.Is(p.named(p.f.Name).explain(err), ErrNotFound) {
			return err
		}
		clear(p.done)
	}
	begun, err := p.client.CreateMultipartUpload(ctx, &s3.CreateMultipartUploadInput{
		Bucket: &p.at.url.Host, Key: &p.key, ContentType: aws.String(contentType),
		Metadata:             map[string]string{metaSHA256: p.f.SHA256},
		ServerSideEncryption: p.sse.kind, SSEKMSKeyId: p.sse.key,
	})
	if err != nil {
		return err
	}
	p.f.Upload, p.checksums = *begun.UploadId, begun.ChecksumAlgorithm != ""
	return p.f.OnUpload(p.f.Upload)
}

// list notes the parts that the store has as they should be.
func (p *partial) list(ctx context.Context) error {
	pages := s3.NewListPartsPaginator(p.client, &s3.ListPartsInput{Bucket: &p.at.url.Host, Key: &p.key, UploadId: &p.f.Upload})
	for pages.HasMorePages() {
		page, err := pages.NextPage(ctx)
		if err != nil {
			return err
		}
		p.checksums = page.ChecksumAlgorithm != ""
		for _, part := range page.Parts {
			n := int(aws.ToInt32(part.PartNumber)) - 1
			if n < 0 || n >= len(p.done) || aws.ToInt64(part.Size) != p.length(n) ||
				strings.Trim(aws.ToString(part.ETag), `"`) != hex.EncodeToString(p.f.parts[n].md5[:]) {
				continue
			}
			p.done[n] = types.CompletedPart{PartNumber: part.PartNumber, ETag: part.ETag}
			if p.checksums {
				p.done[n].ChecksumCRC32 = part.ChecksumCRC32
			}
		}
	}
	return nil
}

// length returns that of a part.
func (p *partial) length(n int) int64 { return min(p.f.part, p.f.Size-int64(n)*p.f.part) }

// send uploads the parts that are missing. The file is read by the caller's goroutine,
// one part after the other.
func (p *partial) send(ctx context.Context) error {
	buffers := make(chan []byte, atOnce)
	for range atOnce {
		buffers <- nil // made when it is needed
	}
	group, ctx := errgroup.WithContext(ctx)
	for n := range p.done {
		if p.done[n].ETag != nil {
			continue
		}
		var buf []byte
		select {
		case buf = <-buffers:
		case <-ctx.Done():
			return errors.Join(group.Wait(), ctx.Err())
		}
		data, err := p.read(n, buf)
		if err != nil {
			return errors.Join(err, group.Wait())
		}
		// owner: send; ends when the part is there or with ctx.
		group.Go(func() error {
			defer func() { buffers <- data }()
			return p.sendPart(ctx, n, data)
		})
	}
	return group.Wait()
}

// read reads a part and makes sure that it is what was summed.
func (p *partial) read(n int, buf []byte) ([]byte, error) {
	if buf == nil {
		buf = make([]byte, p.f.part)
	}
	buf = buf[:p.length(n)]
	if m, err := p.f.ReadAt(buf, int64(n)*p.f.part); m < len(buf) {
		return nil, shrunk(err)
	}
	if crc32.Checksum(buf, castagnoli) != p.f.parts[n].crc {
		return nil, ErrChanged
	}
	return buf, nil
}

func (p *partial) sendPart(ctx context.Context, n int, data []byte) error {
	number := aws.Int32(int32(n) + 1) // there are 10,000 at most
	in := &s3.UploadPartInput{
		Bucket: &p.at.url.Host, Key: &p.key, UploadId: &p.f.Upload, PartNumber: number,
		Body: bytes.NewReader(data), ContentMD5: base64MD5(p.f.parts[n].md5),
	}
	if p.checksums {
		in.ChecksumAlgorithm = types.ChecksumAlgorithmCrc32 // what the SDK begins an upload with
	}
	out, err := p.client.UploadPart(ctx, in)
	if err != nil {
		return err
	}
	p.done[n] = types.CompletedPart{PartNumber: number, ETag: out.ETag}
	if p.checksums {
		p.done[n].ChecksumCRC32 = out.ChecksumCRC32
	}
	return nil
}
