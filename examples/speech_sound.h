/* SPDX-License-Identifier: Apache-2.0 */
/* Sounds for speech.c: of a file, or of a voice that is computed: pulses through the resonances of
 * five vowels. The caller frees them. Threads: thread-safe. */
#ifndef GANTRY_EXAMPLES_SPEECH_SOUND_H
#define GANTRY_EXAMPLES_SPEECH_SOUND_H

#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SOUND_RATE 16000 /* samples a second */
#define SOUND_PI 3.14159265358979

/* Adds a voice of so many samples: a pulse a period, through three resonances in a row. */
static inline void sound_speak(float *out, int samples) {
    static const double vowels[5][3] = {{730, 1090, 2440},
                                        {270, 2290, 3010},
                                        {300, 870, 2240},
                                        {530, 1840, 2480},
                                        {570, 840, 2410}};
    static const double widths[3] = {80, 100, 140};
    double phase = 0, last[3] = {0}, before[3] = {0};
    for (int i = 0; i < samples; ++i) {
        const double t = (double)i / SOUND_RATE, syllable = t / 0.22, within = fmod(syllable, 1);
        const double glide = fmax(0, (within - 0.6) / 0.4);
        double sound = 0;
        phase += (120 + 25 * sin(2 * SOUND_PI * 1.3 * t)) / SOUND_RATE;
        if (phase >= 1) sound = within < 0.8 ? sqrt(sin(SOUND_PI * within * 1.25)) : 0;
        if (phase >= 1) phase -= 1;
        for (int k = 0; k < 3; ++k) {
            const double from = vowels[(int)syllable % 5][k],
                         to = vowels[((int)syllable + 1) % 5][k];
            const double radius = exp(-SOUND_PI * widths[k] / SOUND_RATE);
            const double turn =
                2 * radius * cos(2 * SOUND_PI * (from + glide * (to - from)) / SOUND_RATE);
            sound =
                sound * (1 - turn + radius * radius) + turn * last[k] - radius * radius * before[k];
            before[k] = last[k];
            last[k] = sound;
        }
        out[i] += (float)(0.6 * sound);
    }
}

/* Five seconds: a voice twice, with a little noise. */
static inline float *sound_make(int *out_samples) {
    *out_samples = 5 * SOUND_RATE;
    float *sound = calloc((size_t)*out_samples, sizeof *sound);
    uint32_t noise = 1;
    for (int i = 0; sound && i < *out_samples; ++i)
        sound[i] = 0.002f * ((float)((noise = noise * 1664525u + 1013904223u) >> 8) / 0x1p23f - 1);
    if (sound) sound_speak(sound + SOUND_RATE, SOUND_RATE * 3 / 2);
    if (sound) sound_speak(sound + SOUND_RATE * 7 / 2, SOUND_RATE);
    return sound;
}

/* Ends the program for a file that is no such sound. */
static inline float *sound_read(const char *path, int *out_samples) {
    unsigned char head[44];
    FILE *file = fopen(path, "rb");
    if (!file || fread(head, 1, sizeof head, file) != sizeof head ||
        memcmp(head + 8, "WAVE", 4) != 0 || head[22] != 1 || head[24] != 0x80 || head[25] != 0x3e ||
        head[34] != 16) {
        (void)fprintf(stderr, "%s is no WAV file of 16,000 samples of 16 bits, in one channel\n",
                      path);
        exit(1);
    }
    float *sound = NULL;
    int16_t sample;
    for (*out_samples = 0; fread(&sample, sizeof sample, 1, file) == 1; ++*out_samples) {
        if (*out_samples % SOUND_RATE == 0)
            sound = realloc(sound, (size_t)(*out_samples + SOUND_RATE) * sizeof *sound);
        if (!sound) exit(1);
        sound[*out_samples] = (float)sample / 32768;
    }
    (void)fclose(file);
    return sound;
}

#endif
