// The five products of kernels/sgemm as one writes them in CUDA C++, for tests/gpu/test_sgemm.py alone: the same algorithms, tiles and
// parameters, by hand. BM, BN, ... are defined by the test, as the kernels' template arguments are.

#define PAD 4
#define MATRICES                                                                                                          \
    const float *__restrict__ A, long long rs_a, long long cs_a, long long bs_a, const float *__restrict__ B,             \
        long long rs_b, long long cs_b, long long bs_b, float beta, float *C, long long rs_c, long long bs_c

#if defined(NAIVE) || defined(COALESCED)

static __device__ void one(long long p, long long row, long long col, int K, float alpha, MATRICES) {
    float sum = 0;
    for (int k = 0; k < K; ++k) sum += A[p * bs_a + row * rs_a + k * cs_a] * B[p * bs_b + k * rs_b + col * cs_b];
    float &c = C[p * bs_c + row * rs_c + col];
    c = alpha * sum + (beta != 0 ? beta * c : 0);
}

extern "C" __global__ void twin(int batches, int M, int N, int K, float alpha, MATRICES) {
    long long t = blockIdx.x * (long long)blockDim.x + threadIdx.x;
#ifdef NAIVE
    long long p = t / ((long long)M * N), row = t % M, col = t / M % N;
#else
    int across = (N + TILE - 1) / TILE, tiles = (M + TILE - 1) / TILE * across;
    long long tile = t / (TILE * TILE) % tiles, p = t / (TILE * TILE) / tiles;
    long long row = tile / across * TILE + t / TILE % TILE, col = tile % across * TILE + t % TILE;
#endif
    if (p < batches && row < M && col < N) one(p, row, col, K, alpha, A, rs_a, cs_a, bs_a, B, rs_b, cs_b, bs_b, beta, C, rs_c, bs_c);
}

#else

#ifdef TILED

template <bool ALONG, int WIDTH>
static __device__ void fill(
    float *tile, const float *x, long long start, long long step, long long step_k, int width, int depth
) {
    float loaded[BK * WIDTH / THREADS];
#pragma unroll
    for (int n = 0; n < BK * WIDTH / THREADS; ++n) {
        int e = threadIdx.x + n * THREADS, k = ALONG ? e % BK : e / WIDTH, i = ALONG ? e / BK : e % WIDTH;
        loaded[n] = i < width && k < depth ? x[start + i * step + k * step_k] : 0;
    }
#pragma unroll
    for (int n = 0; n < BK * WIDTH / THREADS; ++n) {
        int e = threadIdx.x + n * THREADS, k = ALONG ? e % BK : e / WIDTH, i = ALONG ? e / BK : e % WIDTH;
        tile[k * (WIDTH + PAD) + i] = loaded[n];
    }
}

#else

// Four elements, WIDE: by one load where all are inside; zeros beyond the edge.
template <bool WIDE>
static __device__ float4 four(const float *x, long long start, long long step, int inside) {
    if (WIDE && inside >= 4) return *reinterpret_cast<const float4 *>(x + start);
    float word[4] = {};
#pragma unroll
    for (int v = 0; v < 4; ++v)
        if (v < inside) word[v] = x[start + v * step];
    return {word[0], word[1], word[2], word[3]};
}

template <bool ALONG, bool WIDE, int WIDTH>
static __device__ void fetch(
    float4 *words, const float *x, long long start, long long step, long long step_k, int width, int depth
) {
    int t = 4 * threadIdx.x, k = ALONG ? t % BK : t / WIDTH, i = ALONG ? t / BK : t % WIDTH;
    bool whole = width >= WIDTH && depth >= BK;
    start += i * step + k * step_k;
#pragma unroll
    for (int n = 0; n < BK * WIDTH / (4 * THREADS); ++n) {
        if (ALONG) {
            int down = n * (4 * THREADS / BK);
            words[n] = four<WIDE>(x, start + down * step, step_k, whole ? 4 : i + down < width ? depth - k : 0);
        } else {
            int down = n * (4 * THREADS / WIDTH);
            words[n] = four<WIDE>(x, start + down * step_k, step, whole ? 4 : k + down < depth ? width - i : 0);
        }
    }
}

template <bool ALONG, int WIDTH>
static __device__ void put(float *tile, const float4 *words) {
#pragma unroll
    for (int n = 0; n < BK * WIDTH / (4 * THREADS); ++n) {
        int e = 4 * (threadIdx.x + n * THREADS);
        if (ALONG) {
            float *column = tile + e % BK * (WIDTH + PAD) + e / BK;
            column[0 * (WIDTH + PAD)] = words[n].x;
            column[1 * (WIDTH + PAD)] = words[n].y;
            column[2 * (WIDTH + PAD)] = words[n].z;
            column[3 * (WIDTH + PAD)] = words[n].w;
        } else {
            *reinterpret_cast<float4 *>(tile + e / WIDTH * (WIDTH + PAD) + e % WIDTH) = words[n];
        }
    }
}

#endif

extern "C" __global__ void __launch_bounds__(THREADS, BLOCKS) twin(int M, int N, int K, float alpha, MATRICES) {
    extern __shared__ __align__(128) float shared[];
    float *const a = shared, *const b = shared + BK * (BM + PAD);
    int across = (N - 1) / BN + 1, tiles = ((M - 1) / BM + 1) * across;
    long long p = blockIdx.x / tiles;
    int top = blockIdx.x % tiles / across * BM, left = blockIdx.x % tiles % across * BN;
#ifdef WARPS
    const int TM = WM / STEP_M * 4, TN = WN / STEP_N * 4;
    int w = threadIdx.x / 32, lane = threadIdx.x % 32;
    int row = w / (BN / WN) * WM + (lane / (STEP_N / 2) * 2 + lane % 2) * 4, col = w % (BN / WN) * WN + lane / 2 % (STEP_N / 4) * 4;
#else
    int row = threadIdx.x / (BN / TN) * TM, col = threadIdx.x % (BN / TN) * TN;
#endif
    long long start_a = p * bs_a + top * rs_a, start_b = p * bs_b + left * cs_b;
    C += p * bs_c + (top + row) * rs_c + left + col;
    float sums[TM][TN] = {};
#ifndef TILED
    float4 next_a[BM * BK / (4 * THREADS)], next_b[BK * BN / (4 * THREADS)];
#endif
#ifdef WARPS
    fetch<ALONG_A, WIDE_A, BM>(next_a, A, start_a, rs_a, cs_a, M - top, K);
    fetch<ALONG_B, WIDE_B, BN>(next_b, B, start_b, cs_b, rs_b, N - left, K);
#endif
    for (int first = 0; first < K; first += BK) {
#ifdef TILED
        __syncthreads();
        fill<ALONG_A, BM>(a, A, start_a + first * cs_a, rs_a, cs_a, M - top, K - first);
        fill<ALONG_B, BN>(b, B, start_b + first * rs_b, cs_b, rs_b, N - left, K - first);
        __syncthreads();
#pragma unroll
        for (int k = 0; k < BK; ++k) {
            float m[TM], n[TN];
            for (int i = 0; i < TM; ++i) m[i] = a[k * (BM + PAD) + row + i];
            for (int j = 0; j < TN; ++j) n[j] = b[k * (BN + PAD) + col + j];
#pragma unroll
            for (int i = 0; i < TM; ++i)
#pragma unroll
                for (int j = 0; j < TN; ++j) sums[i][j] += m[i] * n[j];
        }
#else
#ifdef WARPS
        const int ahead = BK;
        __syncthreads();
        put<ALONG_A, BM>(a, next_a);
        put<ALONG_B, BN>(b, next_b);
#else
        const int ahead = 0;
#endif
        fetch<ALONG_A, WIDE_A, BM>(next_a, A, start_a + (first + ahead) * cs_a, rs_a, cs_a, M - top, K - first - ahead);
        fetch<ALONG_B, WIDE_B, BN>(next_b, B, start_b + (first + ahead) * rs_b, cs_b, rs_b, N - left, K - first - ahead);
#ifndef WARPS
        __syncthreads();
        put<ALONG_A, BM>(a, next_a);
        put<ALONG_B, BN>(b, next_b);
#endif
        __syncthreads();
#ifndef UNROLL
#define UNROLL BK
#endif
#pragma unroll UNROLL
        for (int k = 0; k < BK; ++k) {
            float m[TM], n[TN];
#pragma unroll
            for (int i = 0; i < TM; i += 4)
#ifdef WARPS
                *reinterpret_cast<float4 *>(m + i) = *reinterpret_cast<float4 *>(a + k * (BM + PAD) + row + i / 4 * STEP_M);
#else
                *reinterpret_cast<float4 *>(m + i) = *reinterpret_cast<float4 *>(a + k * (BM + PAD) + row + i);
#endif
#pragma unroll
            for (int j = 0; j < TN; j += 4)
#ifdef WARPS
                *reinterpret_cast<float4 *>(n + j) = *reinterpret_cast<float4 *>(b + k * (BN + PAD) + col + j / 4 * STEP_N);
#else
                *reinterpret_cast<float4 *>(n + j) = *reinterpret_cast<float4 *>(b + k * (BN + PAD) + col + j);
#endif
#pragma unroll
            for (int i = 0; i < TM; ++i)
#pragma unroll
                for (int j = 0; j < TN; ++j) sums[i][j] += m[i] * n[j];
        }
#endif
    }
#pragma unroll
    for (int i = 0; i < TM; ++i) {
#ifdef TILED
#pragma unroll
        for (int j = 0; j < TN; ++j)
            if (top + row + i < M && left + col + j < N) {
                float &c = C[i * rs_c + j];
                c = alpha * sums[i][j] + (beta != 0 ? beta * c : 0);
            }
#else
#pragma unroll
        for (int j = 0; j < TN; j += 4) {
#ifdef WARPS
            int y = i / 4 * STEP_M + i % 4, x = j / 4 * STEP_N;
#else
            int y = i, x = j;
#endif
            int inside = top + row + y < M ? N - (left + col + x) : 0;
            float *c = C + y * rs_c + x, *s = sums[i] + j;
            if (WIDE_C && inside >= 4) {
                float4 word = {0, 0, 0, 0};
                if (beta != 0) word = *reinterpret_cast<float4 *>(c);
                word.x = alpha * s[0] + beta * word.x;
                word.y = alpha * s[1] + beta * word.y;
                word.z = alpha * s[2] + beta * word.z;
                word.w = alpha * s[3] + beta * word.w;
                *reinterpret_cast<float4 *>(c) = word;
            } else {
#pragma unroll
                for (int v = 0; v < 4; ++v)
                    if (v < inside) c[v] = alpha * s[v] + (beta != 0 ? beta * c[v] : 0);
            }
        }
#endif
    }
}

#endif
