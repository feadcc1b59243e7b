// Command load asks a webhook for reviews as kube-apiserver does: Go's net/http, HTTP/1.1, kept-alive connections, of
// which 25 stay open idle; a 429 or 5xx with Retry-After is tried again within the time-out. It prints one JSON object.
// SIGINT or SIGTERM end it early, in order. Nothing but the standard library is used.
package main

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"net/http"
	"net/http/httptrace"
	"os"
	"os/signal"
	"sort"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"
)

// Review is one body, and what its answer has to hold.
type Review struct {
	body []byte
	uid  []byte
}

// Report is what is printed. Times are milliseconds; a failed review has no answer, another status than 200, or an
// answer to something else.
type Report struct {
	Reviews     int            `json:"reviews"`
	Failed      int            `json:"failed"`
	Rate        float64        `json:"rate"`
	P50         float64        `json:"p50"`
	P99         float64        `json:"p99"`
	P999        float64        `json:"p999"`
	Max         float64        `json:"max"`
	Seconds     float64        `json:"seconds"`
	Connections int64          `json:"connections"`
	Retried     int64          `json:"retried"`
	Allowed     int            `json:"allowed"`
	Denied      int            `json:"denied"`
	Failures    map[string]int `json:"failures"`
	CPU         float64        `json:"cpu"` // seconds of this client's own
}

// Worker asks for one review after the other.
type Worker struct {
	latencies       []time.Duration
	allowed, denied int
	failures        map[string]int
}

var (
	url       = flag.String("url", "https://127.0.0.1:8443/mutate", "where to, without ?timeout=")
	authority = flag.String("ca", "", "file of the authority to trust; none: any certificate will do")
	name      = flag.String("name", "localhost", "name in the server's certificate")
	workers   = flag.Int("workers", 8, "how many ask at once")
	seconds   = flag.Float64("seconds", 3, "for how long")
	warm      = flag.Float64("warm", 0, "seconds of asking before, not counted")
	rate      = flag.Float64("rate", 0, "reviews a second of all workers together; 0: as many as there can be")
	reconnect = flag.Int("reconnect", 0, "a new connection for each that many reviews of a worker; 0: kept alive")
	timeout   = flag.Int("timeout", 10, "time-out of a review in whole seconds, as in the registration")

	connections, retried atomic.Int64
)

func main() {
	flag.Parse()
	reviews, err := readReviews(flag.Args())
	if err != nil {
		fmt.Fprintln(os.Stderr, "load:", err)
		os.Exit(2)
	}
	client, err := newClient()
	if err != nil {
		fmt.Fprintln(os.Stderr, "load:", err)
		os.Exit(2)
	}
	ctx, cancel := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer cancel()
	if *warm > 0 {
		run(ctx, client, reviews, *warm)
		connections.Store(0)
		retried.Store(0)
	}
	fmt.Fprintln(os.Stderr, "started")
	before := ownCPU()
	began := time.Now()
	done := run(ctx, client, reviews, *seconds)
	report := summarize(done, time.Since(began))
	report.CPU = ownCPU() - before
	json.NewEncoder(os.Stdout).Encode(report)
}

func readReviews(files []string) ([]Review, error) {
	var reviews []Review
	for _, file := range files {
		body, err := os.ReadFile(file)
		if err != nil {
			return nil, err
		}
		var asked struct{ Request struct{ UID string } }
		if err := json.Unmarshal(body, &asked); err != nil {
			return nil, fmt.Errorf("%s: %w", file, err)
		}
		reviews = append(reviews, Review{body: body, uid: []byte(strconv.Quote(asked.Request.UID))})
	}
	if len(reviews) == 0 {
		return nil, fmt.Errorf("no files with reviews are given")
	}
	return reviews, nil
}

func newClient() (*http.Client, error) {
	config := &tls.Config{ServerName: *name, InsecureSkipVerify: *authority == ""}
	if *authority != "" {
		text, err := os.ReadFile(*authority)
		if err != nil {
			return nil, err
		}
		config.RootCAs = x509.NewCertPool()
		if !config.RootCAs.AppendCertsFromPEM(text) {
			return nil, fmt.Errorf("%s holds no certificate", *authority)
		}
	}
	return &http.Client{Transport: &http.Transport{
		TLSClientConfig:     config,
		TLSNextProto:        map[string]func(string, *tls.Conn) http.RoundTripper{}, // HTTP/1.1 alone
		MaxIdleConnsPerHost: 25,
		IdleConnTimeout:     90 * time.Second,
		TLSHandshakeTimeout: 10 * time.Second,
	}}, nil
}

func run(ctx context.Context, client *http.Client, reviews []Review, seconds float64) []*Worker {
	ctx, cancel := context.WithTimeout(ctx, time.Duration(seconds*float64(time.Second)))
	defer cancel()
	done := make([]*Worker, *workers)
	var waiting sync.WaitGroup
	for number := range done {
		done[number] = &Worker{failures: map[string]int{}}
		waiting.Add(1)
		go func(number int, worker *Worker) {
			defer waiting.Done()
			worker.work(ctx, client, reviews, number)
		}(number, done[number])
	}
	waiting.Wait()
	return done
}

// work never breaks off a review: one that is under way at the end is waited for.
func (worker *Worker) work(ctx context.Context, client *http.Client, reviews []Review, number int) {
	pause := time.Duration(0)
	if *rate > 0 {
		pause = time.Duration(float64(*workers) / *rate * float64(time.Second))
	}
	next := time.Now().Add(pause * time.Duration(number) / time.Duration(*workers))
	for count := number; ; count++ {
		if pause > 0 {
			select {
			case <-time.After(time.Until(next)):
			case <-ctx.Done():
			}
			next = next.Add(pause)
		}
		if ctx.Err() != nil {
			return
		}
		began := time.Now()
		answer, err := ask(client, reviews[count%len(reviews)], *reconnect > 0 && count%*reconnect == 0)
		if err != nil {
			worker.failures[shorten(err)]++
			time.Sleep(2 * time.Millisecond)
			continue
		}
		worker.latencies = append(worker.latencies, time.Since(began))
		if bytes.Contains(answer, []byte(`"allowed":true`)) || bytes.Contains(answer, []byte(`"allowed": true`)) {
			worker.allowed++
		} else {
			worker.denied++
		}
	}
}

// ask does what client-go does: tries again where the answer says when, at most ten times, within the time-out.
func ask(client *http.Client, review Review, last bool) ([]byte, error) {
	ctx, cancel := context.WithTimeout(context.Background(), time.Duration(*timeout)*time.Second)
	defer cancel()
	for try := 0; ; try++ {
		status, wait, answer, err := post(ctx, client, review, last)
		if err != nil {
			return nil, err
		}
		if status == http.StatusOK {
			if !bytes.Contains(answer, review.uid) {
				return nil, fmt.Errorf("an answer to something else")
			}
			return answer, nil
		}
		after, err := strconv.Atoi(wait)
		if err != nil || try == 10 || (status != http.StatusTooManyRequests && status < 500) {
			return nil, fmt.Errorf("status %d", status)
		}
		retried.Add(1)
		select {
		case <-time.After(time.Duration(after) * time.Second):
		case <-ctx.Done():
			return nil, fmt.Errorf("status %d until the time-out", status)
		}
	}
}

func post(ctx context.Context, client *http.Client, review Review, last bool) (int, string, []byte, error) {
	trace := &httptrace.ClientTrace{GotConn: func(got httptrace.GotConnInfo) {
		if !got.Reused {
			connections.Add(1)
		}
	}}
	address := fmt.Sprintf("%s?timeout=%ds", *url, *timeout)
	request, err := http.NewRequestWithContext(
		httptrace.WithClientTrace(ctx, trace), http.MethodPost, address, bytes.NewReader(review.body))
	if err != nil {
		return 0, "", nil, err
	}
	request.Close = last
	request.Header.Set("Content-Type", "application/json")
	request.Header.Set("Accept", "application/json, */*")
	request.Header.Set("User-Agent", "kube-apiserver-admission")
	response, err := client.Do(request)
	if err != nil {
		return 0, "", nil, err
	}
	defer response.Body.Close()
	answer, err := io.ReadAll(response.Body)
	return response.StatusCode, response.Header.Get("Retry-After"), answer, err
}

// shorten keeps what went wrong and drops the addresses, so that equal failures are counted together.
func shorten(err error) string {
	text := err.Error()
	if at := strings.LastIndex(text, ": "); at > 0 {
		text = text[at+2:]
	}
	return text
}

func summarize(done []*Worker, took time.Duration) Report {
	report := Report{Seconds: took.Seconds(), Failures: map[string]int{}}
	report.Connections, report.Retried = connections.Load(), retried.Load()
	var all []time.Duration
	for _, worker := range done {
		all = append(all, worker.latencies...)
		report.Allowed += worker.allowed
		report.Denied += worker.denied
		for text, count := range worker.failures {
			report.Failures[text] += count
			report.Failed += count
		}
	}
	sort.Slice(all, func(first, second int) bool { return all[first] < all[second] })
	at := func(share float64) float64 {
		if len(all) == 0 {
			return 0
		}
		return float64(all[min(int(share*float64(len(all))), len(all)-1)].Microseconds()) / 1000
	}
	report.Reviews, report.Rate = len(all), float64(len(all))/took.Seconds()
	report.P50, report.P99, report.P999, report.Max = at(0.5), at(0.99), at(0.999), at(1)
	return report
}

func ownCPU() float64 {
	var usage syscall.Rusage
	syscall.Getrusage(syscall.RUSAGE_SELF, &usage)
	return time.Duration(usage.Utime.Nano() + usage.Stime.Nano()).Seconds()
}
