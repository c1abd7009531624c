/* Shifts the calendar of a process and its children by CLOCK_SHIFT_S seconds; durations and deadlines stay as they are.
 *
 * Preloaded, it adds the shift to every reading of the calendar clock. The monotonic clock, by which programs wait, is
 * the kernel's. A deadline that was worked out from a shifted reading is handed to the kernel unshifted.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

static long shift(void) {
    static long by;
    static int known;
    if (!known) {
        const char *said = getenv("CLOCK_SHIFT_S");
        by = said ? atol(said) : 0;
        known = 1;
    }
    return by;
}

static int unshifted(clockid_t clock, struct timespec *time) { return (int)syscall(SYS_clock_gettime, clock, time); }

int clock_gettime(clockid_t clock, struct timespec *time) {
    int failed = unshifted(clock, time);
    if (!failed && (clock == CLOCK_REALTIME || clock == CLOCK_REALTIME_COARSE)) time->tv_sec += shift();
    return failed;
}

int gettimeofday(struct timeval *restrict time, void *restrict zone) {
    struct timespec now;
    (void)zone;
    if (unshifted(CLOCK_REALTIME, &now)) return -1;
    time->tv_sec = now.tv_sec + shift();
    time->tv_usec = now.tv_nsec / 1000;
    return 0;
}

time_t time(time_t *kept) {
    struct timespec now;
    unshifted(CLOCK_REALTIME_COARSE, &now);
    now.tv_sec += shift();
    if (kept) *kept = now.tv_sec;
    return now.tv_sec;
}

static struct timespec kernels(const struct timespec *deadline) {
    struct timespec now, found = *deadline;
    unshifted(CLOCK_REALTIME, &now);
    if (labs(found.tv_sec - now.tv_sec - shift()) < labs(found.tv_sec - now.tv_sec)) found.tv_sec -= shift();
    return found;
}

int pthread_cond_timedwait(pthread_cond_t *condition, pthread_mutex_t *mutex, const struct timespec *deadline) {
    int (*next)(pthread_cond_t *, pthread_mutex_t *, const struct timespec *) =
        dlvsym(RTLD_NEXT, "pthread_cond_timedwait", "GLIBC_2.3.2");
    struct timespec until = kernels(deadline);
    return next(condition, mutex, &until);
}

int sem_timedwait(sem_t *semaphore, const struct timespec *deadline) {
    int (*next)(sem_t *, const struct timespec *) = dlsym(RTLD_NEXT, "sem_timedwait");
    struct timespec until = kernels(deadline);
    return next(semaphore, &until);
}

int pthread_mutex_timedlock(pthread_mutex_t *mutex, const struct timespec *deadline) {
    int (*next)(pthread_mutex_t *, const struct timespec *) = dlsym(RTLD_NEXT, "pthread_mutex_timedlock");
    struct timespec until = kernels(deadline);
    return next(mutex, &until);
}
