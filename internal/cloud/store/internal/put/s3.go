//go:build !nocloud

package put

import (
	"bytes"
	"context"
	"crypto/md5" //nolint:gosec // S3 verifies uploads with it; not for security
	"encoding/base64"
	"encoding/hex"
	"errors"
	"hash/crc32"
	"io"
	"net/http"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/aws/retry"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/aws-sdk-go-v2/service/s3/types"
	"golang.org/x/sync/errgroup"

	"github.com/gorosbag/gorosbag/internal/cloud/store/internal/response"
	"github.com/gorosbag/gorosbag/internal/cloud/store/place"
)

// s3Sender uploads to S3 with the client of the driver, which itself cannot resume an
// interrupted upload.
type s3Sender struct {
	at     place.Place // of the bucket, with the prefix of keys
	meter  *Meter
	client *s3.Client
	sse    Encryption
}

// NewS3 returns a Sender to the bucket at a place of S3, with a client that counts and limits what it
// sends by meter.
func NewS3(client *s3.Client, at place.Place, meter *Meter) Sender {
	return &s3Sender{at: at, meter: meter, client: instrumented(client, meter), sse: ParseEncryption(at)}
}

// Put implements Sender.
func (b *s3Sender) Put(ctx context.Context, f *File) error {
	if len(f.parts) > 1 {
		return b.putParts(ctx, f)
	}
	return b.putObject(ctx, f)
}

// partsInFlight is the number of concurrent part uploads. It bounds memory: each has a buffer.
const partsInFlight = 3

// idleTimeout ends requests without progress.
const idleTimeout = 2 * time.Minute

// Encryption is the server-side encryption that the URL requests.
type Encryption struct {
	Kind types.ServerSideEncryption
	Key  *string
}

// ParseEncryption reads parameters that s3blob validates but does not export.
func ParseEncryption(at place.Place) Encryption {
	var e Encryption
	q := at.URL.Query()
	for _, kind := range e.Kind.Values() {
		if strings.EqualFold(string(kind), q.Get("ssetype")) {
			e.Kind = kind
		}
	}
	if key := q.Get("kmskeyid"); key != "" {
		e.Key = &key
	}
	return e
}

// instrumented returns a client that limits the rate, counts bytes, and ends requests after
// idleTimeout.
func instrumented(c *s3.Client, meter *Meter) *s3.Client {
	return s3.New(c.Options(), func(o *s3.Options) {
		o.HTTPClient = &instrumentedClient{meter: meter, next: o.HTTPClient}
		o.Retryer = retry.AddWithErrorCodes(o.Retryer, conflictCodes...)
	})
}

// conflictCodes are the error codes of stores when another request changes the same object or, with
// versitygw, the same directory. The request is to be repeated.
var conflictCodes = []string{"OperationAborted", "ConditionalRequestConflict", "ExistingObjectIsDirectory"}

// onlyConflicts retries nothing else: after a lost response a file would be sent twice.
func onlyConflicts() aws.Retryer {
	return retry.NewStandard(func(o *retry.StandardOptions) {
		codes := retry.RetryableErrorCode{Codes: map[string]struct{}{}}
		for _, c := range conflictCodes {
			codes.Codes[c] = struct{}{}
		}
		o.Retryables = []retry.IsErrorRetryable{codes}
	})
}

type instrumentedClient struct {
	meter *Meter
	next  s3.HTTPClient
}

// Do implements s3.HTTPClient.
func (w *instrumentedClient) Do(req *http.Request) (*http.Response, error) {
	ctx, cancel := context.WithCancelCause(req.Context())
	timer := time.AfterFunc(idleTimeout, func() { cancel(place.ErrIdle) })
	req = req.WithContext(ctx)
	if req.Body != nil && req.Body != http.NoBody {
		req.Body = &idleTimeoutBody{Reader: w.meter.Reader(ctx, req.Body), Closer: req.Body, timer: timer}
	}
	resp, err := w.next.Do(req)
	if err != nil {
		timer.Stop()
		cause := context.Cause(ctx)
		cancel(nil)
		if errors.Is(cause, place.ErrIdle) {
			return nil, place.ErrIdle
		}
		return nil, err
	}
	resp.Body = &idleTimeoutBody{Reader: resp.Body, Closer: resp.Body, timer: timer, end: func() { cancel(nil) }}
	return resp, nil
}

// idleTimeoutBody postpones the idle timeout of a request with each read.
type idleTimeoutBody struct {
	io.Reader
	io.Closer
	timer *time.Timer
	end   func() // nil for the body of a request
}

// Read implements io.Reader.
func (m *idleTimeoutBody) Read(p []byte) (int, error) {
	m.timer.Reset(idleTimeout)
	return m.Reader.Read(p)
}

// Close implements io.Closer.
func (m *idleTimeoutBody) Close() error {
	err := m.Closer.Close()
	if m.end != nil {
		m.timer.Stop()
		m.end()
	}
	return err
}

// putObject uploads a small file with one request.
func (b *s3Sender) putObject(ctx context.Context, f *File) error {
	_, err := b.client.PutObject(ctx, &s3.PutObjectInput{
		Bucket: &b.at.URL.Host, Key: aws.String(b.at.Object(f.Name).Key),
		Body:          io.NewSectionReader(f, 0, f.Size),
		ContentLength: &f.Size, ContentMD5: base64MD5(f.parts[0].md5), ContentType: aws.String(ContentType),
		Metadata:             f.AllMetadata(),
		ServerSideEncryption: b.sse.Kind, SSEKMSKeyId: b.sse.Key,
		IfNoneMatch: f.ifNoneMatch(),
	}, func(o *s3.Options) {
		if !f.Small {
			o.Retryer = onlyConflicts()
		}
	})
	return err
}

// ifNoneMatch is the condition of an upload that must not overwrite.
func (f *File) ifNoneMatch() *string {
	if !f.Exclusive {
		return nil
	}
	return aws.String("*")
}

func base64MD5(sum [md5.Size]byte) *string {
	return aws.String(base64.StdEncoding.EncodeToString(sum[:]))
}

// putParts uploads a large file in parts. It skips parts that the store has from an
// interrupted upload.
func (b *s3Sender) putParts(ctx context.Context, f *File) error {
	p := &multipartUpload{s3Sender: b, f: f, key: b.at.Object(f.Name).Key, done: make([]types.CompletedPart, len(f.parts))}
	if err := p.resume(ctx); err != nil {
		return err
	}
	if err := p.send(ctx); err != nil {
		return err
	}
	_, err := b.client.CompleteMultipartUpload(ctx, &s3.CompleteMultipartUploadInput{
		Bucket: &b.at.URL.Host, Key: &p.key, UploadId: &f.Upload, MultipartUpload: &types.CompletedMultipartUpload{Parts: p.done},
		IfNoneMatch: p.f.ifNoneMatch(),
	})
	return err
}

// multipartUpload is the state of an S3 multipart upload.
type multipartUpload struct {
	*s3Sender
	f    *File
	key  string
	done []types.CompletedPart // those with an ETag are in the store

	// checksums is set if the store keeps the CRC32 that the SDK sends with parts, and needs them
	// again at the end. Stores that do not keep them reject them there.
	checksums bool
}

// resume finds the parts that the store has, and begins a new upload if there is none.
func (p *multipartUpload) resume(ctx context.Context) error {
	if p.f.Upload != "" {
		err := p.listParts(ctx)
		var gone *types.NoSuchUpload
		if err == nil || !errors.As(err, &gone) && !errors.Is(p.at.Object(p.f.Name).Explain(err), place.ErrNotFound) {
			return err
		}
		clear(p.done)
	}
	begun, err := p.client.CreateMultipartUpload(ctx, &s3.CreateMultipartUploadInput{
		Bucket: &p.at.URL.Host, Key: &p.key, ContentType: aws.String(ContentType),
		Metadata:             p.f.AllMetadata(),
		ServerSideEncryption: p.sse.Kind, SSEKMSKeyId: p.sse.Key,
	})
	if err != nil {
		return err
	}
	if aws.ToString(begun.UploadId) == "" {
		return place.BadResponse("the server begins a multipart upload, but does not say which")
	}
	p.f.Upload, p.checksums = *begun.UploadId, begun.ChecksumAlgorithm == types.ChecksumAlgorithmCrc32
	return p.f.OnUpload(p.f.Upload)
}

// listParts records the parts that the store has with the right size and checksum.
func (p *multipartUpload) listParts(ctx context.Context) error {
	ctx = response.WithPages(ctx)
	pages := s3.NewListPartsPaginator(p.client, &s3.ListPartsInput{Bucket: &p.at.URL.Host, Key: &p.key, UploadId: &p.f.Upload})
	for pages.HasMorePages() {
		page, err := pages.NextPage(ctx)
		if err != nil {
			return err
		}
		p.checksums = page.ChecksumAlgorithm == types.ChecksumAlgorithmCrc32 // versitygw has "null" for none
		for _, part := range page.Parts {
			n := int(aws.ToInt32(part.PartNumber)) - 1
			if n < 0 || n >= len(p.done) || aws.ToInt64(part.Size) != p.length(n) || p.checksums && part.ChecksumCRC32 == nil ||
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

// length returns the length of part n.
func (p *multipartUpload) length(n int) int64 {
	return min(p.f.partBytes, p.f.Size-int64(n)*p.f.partBytes)
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
		// owner: send; ends when the part is uploaded or with ctx.
		group.Go(func() error {
			defer func() { buffers <- data }()
			return p.sendPart(ctx, n, data)
		})
	}
	return group.Wait()
}

// read reads a part and verifies its checksum.
func (p *multipartUpload) read(n int, buf []byte) ([]byte, error) {
	if buf == nil {
		buf = make([]byte, p.f.partBytes)
	}
	buf = buf[:p.length(n)]
	if m, err := p.f.ReadAt(buf, int64(n)*p.f.partBytes); m < len(buf) {
		return nil, truncated(err)
	}
	if crc32.Checksum(buf, castagnoli) != p.f.parts[n].crc {
		return nil, place.ErrChanged
	}
	return buf, nil
}

func (p *multipartUpload) sendPart(ctx context.Context, n int, data []byte) error {
	number := aws.Int32(int32(n) + 1) // there are 10,000 at most
	in := &s3.UploadPartInput{
		Bucket: &p.at.URL.Host, Key: &p.key, UploadId: &p.f.Upload, PartNumber: number,
		Body: bytes.NewReader(data), ContentMD5: base64MD5(p.f.parts[n].md5),
	}
	if p.checksums {
		in.ChecksumAlgorithm = types.ChecksumAlgorithmCrc32 // the SDK's default for uploads
	}
	out, err := p.client.UploadPart(ctx, in)
	if err != nil {
		return err
	}
	if out.ETag == nil || p.checksums && out.ChecksumCRC32 == nil {
		return place.BadResponse("the server accepts a part of an upload, but does not report its checksum")
	}
	p.done[n] = types.CompletedPart{PartNumber: number, ETag: out.ETag}
	if p.checksums {
		p.done[n].ChecksumCRC32 = out.ChecksumCRC32
	}
	return nil
}
